"""Arrays → arrays: one file per window or operator. Kernels are pure and know nothing of Spark."""
