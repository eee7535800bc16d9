"""Implementations of the five designs: sans-IO cores. Time and randomness come in, effects go out as values."""
