"""Meaning → decision: operators with their specs, EMIT, bounded-state checks, EXPLAIN."""
