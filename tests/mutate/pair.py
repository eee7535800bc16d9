"""Two models of one spec: one of them looks at what the other leaves alone."""

from __future__ import annotations

from checker.lang import Model, action, init, state, witness

SOURCE = "none"


@state
class Light:
    on: bool
    flips: bool


@init
def dark() -> Light:
    return Light(on=False, flips=False)


@action(who="someone", source=SOURCE)
def flip(s: Light) -> None:
    """Flips the switch."""
    s.on = not s.on
    s.flips = True


@witness
def light(s: Light) -> bool:
    """It is light."""
    return s.on


@witness
def flipped(s: Light) -> bool:
    """Somebody was here."""
    return s.flips


MODELS = [
    Model("plain", "What is to be seen.", dark, [flip], [light]),
    Model("watched", "Also what was done.", dark, [flip], [flipped]),
]
