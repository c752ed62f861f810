"""Databases that JDBC reaches: results into their tables exactly once."""
