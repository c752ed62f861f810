"""The kernels of OVER windows: on close, on complete, incremental."""
