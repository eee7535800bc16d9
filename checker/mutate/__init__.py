"""Mutation: one change to an action at a time, to see whether a property or witness of the model objects.

`operators` says what is changed, `mutants` makes models of it, `judge` gives a mutant's verdict (with `compare`, which
holds its steps to the original's), `run` does so for all of them in parallel. Specs are never written to.
"""
