"""Delta tables, read with delta-rs, and written with it or with Spark's own Delta."""
