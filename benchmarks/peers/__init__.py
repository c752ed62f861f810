"""Panes beside other stream processors, on the same rows from the same files: see `docs/benchmarks/index.md`."""
