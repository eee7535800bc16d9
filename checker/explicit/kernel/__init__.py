"""The kernel of a model: packed states, generated code, and the native functions that search and liveness call."""
