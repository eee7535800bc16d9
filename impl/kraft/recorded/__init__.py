"""Runs of processes, as `kraft/recorded` has them: what controllers decided, projected to a partition."""
