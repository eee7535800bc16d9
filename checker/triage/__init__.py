"""What the solver found, held against the spec and the explicit search: traces, and what to make of them."""
