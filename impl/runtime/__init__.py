"""Processes: an event loop around a core without I/O, and what its process shows of itself."""
