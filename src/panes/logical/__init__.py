"""Tree → meaning: plan nodes, binding, rules, EXPLAIN."""
