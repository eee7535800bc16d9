"""The checker. Importing this package loads nothing else: a spec must not drag in a solver or a compiler."""
