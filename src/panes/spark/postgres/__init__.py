"""PostgreSQL: results into its tables exactly once, and its tables as batch inputs."""
