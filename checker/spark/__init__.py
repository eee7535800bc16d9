"""Exploration on Apache Spark: the local engine's kernel in the executors, states in sorted runs on shared files."""
