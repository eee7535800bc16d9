"""Parts of cores in which faults are planted that hide."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import BoundModel


class CopiesItself:
    """What a subclass adds is copied too."""

    def copy(self) -> Any:
        other = super().copy()  # type: ignore[misc]  # of the class that this is mixed into
        vars(other).update({name: value for name, value in vars(self).items() if name not in vars(other)})
        other.__class__ = type(self)
        return other


def is_found(
    made: type[Any], modules: Iterable[ModuleType], model: BoundModel, system: Any, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether a system diverges whose adapter makes cores of this class, in the place of the one it is derived from.

    modules: of the adapter, those that make cores.
    """
    for module in modules:
        monkeypatch.setattr(module, made.__mro__[1].__name__, made, raising=False)
    return conform(model, system, "faulty", ConformOptions(jobs=1)).verdict == "diverges"
