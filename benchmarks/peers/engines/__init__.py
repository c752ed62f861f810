"""One script for each peer: its queries, and what it cannot say and why."""
