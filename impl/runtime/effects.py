"""Effects that the cores of every design ask for beside their own: steps to be recorded, and lines for the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Did:
    """A core took this step of the design: for traces and metrics. zxid: of what it read or wrote last in it."""

    action: str
    zxid: int
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the log. is_warning: an operator should look."""

    event: str
    facts: Facts = field(default_factory=dict)
    is_warning: bool = False
