"""Lemmas that nobody wrote: candidates from templates, those that explored states refute dropped, then Houdini."""
