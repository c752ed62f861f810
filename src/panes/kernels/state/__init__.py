"""What kernels keep between micro-batches, and when they let go of it."""
