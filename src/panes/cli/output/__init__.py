"""What a run says while it runs: a live table, lines, or JSON."""
