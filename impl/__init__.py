"""Implementations of the designs: sans-IO cores. Time and randomness come in, effects go out as values."""
