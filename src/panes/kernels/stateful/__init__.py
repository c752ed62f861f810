"""The kernel of stateful functions."""
