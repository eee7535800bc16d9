"""Executable specs, one package a design document. They import `checker.lang` and nothing else."""
