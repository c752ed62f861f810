"""Decision → DataFrame: the only room that knows Spark's side of a plan. It has no logic of its own."""
