"""A double of the part of Spark that Panes uses: DuckDB evaluates its SQL, plain Python runs its micro-batches.

The compiler, the builder, pack, kernels, the shard's processor and unpack are the real ones. What the double does not
know, it refuses.
"""
