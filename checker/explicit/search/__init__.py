"""Exhaustive and random search over the packed states of one model, and the paths to what it finds."""
