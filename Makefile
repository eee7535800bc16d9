# make check: install into .venv, then run the main job.  make test: everything CI runs.  make bench: the figures.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: check test bench lint clean

check: .venv/.installed
	$(BIN)/fencepost tour

test: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

bench: .venv/.installed
	$(BIN)/python -m tests.benchmarks

.venv/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Fencepost needs Python 3.11 or newer: make PYTHON=python3.12 check")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
