"""Sketches: summaries of many values in little room, equal however the values were cut into parts that are merged."""
