"""Whole queries at random: as a stream, as a batch and by an oracle; `double` stands in for Spark's runtime."""
