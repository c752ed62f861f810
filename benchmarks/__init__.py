"""Benchmarks: `python -m benchmarks [name …]`, no name for all of them."""
