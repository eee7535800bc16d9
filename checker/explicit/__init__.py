"""The explicit-state engine: packed states, a compiled kernel, exhaustive and random search."""
