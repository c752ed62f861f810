"""Random inputs for the compiler: every text either compiles or is refused with a PanesError."""
