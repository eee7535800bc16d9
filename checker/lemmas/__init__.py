"""Lemmas: counterexamples to induction held against the search, and candidate invariants filtered by Houdini."""
