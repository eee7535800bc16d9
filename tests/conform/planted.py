"""Parts of cores in which faults are planted that hide."""

from __future__ import annotations

from typing import Any


class CopiesItself:
    """What a subclass adds is copied too."""

    def copy(self) -> Any:
        other = super().copy()  # type: ignore[misc]  # of the class that this is mixed into
        vars(other).update({name: value for name, value in vars(self).items() if name not in vars(other)})
        other.__class__ = type(self)
        return other
