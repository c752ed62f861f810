"""Aggregates: how rows are folded, how partial results merge, and what comes out."""
