"""Marks that declarations leave on classes and functions, and which binding of the constants is in force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MARK = "__fencepost__"
"""The attribute that holds what a decorator declared."""
INSTANCE = "__fencepost_instance__"
"""Among the globals of an instance of a spec: its InstanceInfo."""


@dataclass(frozen=True)
class RecordInfo:
    frozen: bool
    is_state: bool


class Binding:
    """Counts bindings, so that what depends on constants can be recomputed when they change."""

    version = 0


def binding_version() -> int:
    return Binding.version


@contextmanager
def unbound() -> Iterator[None]:
    """No constants are in force inside: a module of a spec is being imported, for no model yet."""
    before, Binding.version = Binding.version, 0
    try:
        yield
    finally:
        Binding.version = before
