"""Is this recorded trace a behaviour of the spec? See `docs/trace-validation.md`."""
