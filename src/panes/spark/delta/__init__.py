"""Delta tables, read and written with delta-rs: it works with every Spark, and without a jar."""
