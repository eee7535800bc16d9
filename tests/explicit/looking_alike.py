"""Vending machines for `fencepost include`: what can be seen is whether one has a coin, and the drink that it serves.

`early` chooses the drink when it has the coin, unseen; `late` when it serves it. They look alike, though no mapping of
states says so of `late`: what `early` has chosen is not known before the drink is there. `generous` serves its second
customer without a coin: by hand, after insert, serve_any, take, that is the fifth state. `warming` boils water in up to
`strokes` unseen steps, the last of which is cut.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import (
    AtMost,
    History,
    Inclusion,
    Model,
    Option,
    Ordinal,
    Seq,
    action,
    constants,
    fresh,
    init,
    message,
    require,
    state,
)


@constants
class Design:
    strokes: int = 3


class Drink(Enum):
    TEA = "TEA"
    COFFEE = "COFFEE"


class Sale(Ordinal):
    """Each one is another."""


@state
class Machine:
    is_paid: bool
    choice: Option[Drink]
    served: Option[Drink]
    strokes: Annotated[Seq[bool], AtMost(lambda: Design.strokes)]
    has_sold: bool
    sale: Sale
    past: Annotated[bool, History]


@init
def idle() -> Machine:
    return Machine(is_paid=False, choice=None, served=None, strokes=(), has_sold=False, sale=Sale(0), past=False)


@init
def with_a_coin() -> Machine:
    return Machine(is_paid=True, choice=None, served=None, strokes=(), has_sold=False, sale=Sale(0), past=False)


@action(who="-", source="-")
def insert(m: Machine) -> None:
    """A coin, where no drink stands."""
    require(not m.is_paid and m.served is None)
    m.is_paid = True


@action(who="-", source="-")
def choose(m: Machine, drink: Drink) -> None:
    """Unseen."""
    require(m.is_paid and m.choice is None)
    m.choice = drink


@action(who="-", source="-")
def serve_choice(m: Machine) -> None:
    """What was chosen."""
    require(m.choice is not None)
    m.served = m.choice
    m.choice = None
    m.is_paid = False


@action(who="-", source="-")
def serve_any(m: Machine, drink: Drink) -> None:
    """Chosen as it is served."""
    require(m.is_paid)
    m.served = drink
    m.is_paid = False
    m.has_sold = True
    m.sale = fresh(m, Sale)


@action(who="-", source="-")
def serve_free(m: Machine) -> None:
    """Without a coin."""
    require(m.has_sold and m.served is None and not m.is_paid)
    m.served = Drink.TEA


@action(who="-", source="-")
def take(m: Machine) -> None:
    """The customer goes."""
    require(m.served is not None)
    m.served = None


@action(who="-", source="-")
def boil(m: Machine) -> None:
    """One more stroke, unseen."""
    m.strokes = m.strokes + (True,)


@message
class Seen:
    is_paid: bool
    served: Option[Drink]


@message
class SeenSale:
    sale: Sale


@message
class SeenToo:
    is_paid: bool
    served: Option[Drink]


def seen(m: Machine) -> Seen:
    return Seen(m.is_paid, m.served)


def nothing_seen(m: Machine) -> Seen:
    return Seen(is_paid=False, served=None)


def seen_choice(m: Machine) -> Seen:
    assert m.choice is not None or not m.is_paid
    return Seen(m.is_paid, m.served)


def seen_sale(m: Machine) -> SeenSale:
    return SeenSale(m.sale)


def seen_too(m: Machine) -> SeenToo:
    return SeenToo(m.is_paid, m.served)


def unmarked(m: Machine) -> bool:
    return m.is_paid


BRIEF = {"brief": {"strokes": 1}}

EARLY = Model("early", "Chooses unseen.", idle, [insert, choose, serve_choice, take], [])
LATE = Model("late", "Chooses as it serves.", idle, [insert, serve_any, take], [], settings=BRIEF)
GENEROUS = Model("generous", "Serves the second customer for nothing.", idle, [insert, serve_any, serve_free, take], [])
WARMING = Model("warming", "Boils water.", idle, [insert, choose, serve_choice, take, boil], [], settings=BRIEF)
LOADED = Model("loaded", "Has a coin already.", with_a_coin, [serve_any, take], [])
HIDING = Model("hiding", "As late.", idle, [insert, serve_any, take], [], hide=["past"])

MODELS = [EARLY, LATE, GENEROUS, WARMING, LOADED, HIDING]
INCLUSIONS = [
    Inclusion("late_in_early", "What is chosen late might have been chosen early.", LATE, EARLY, seen, seen),
    Inclusion("early_in_late", "What is chosen early might be chosen late.", EARLY, LATE, seen, seen),
    Inclusion("generous_in_early", "Nobody gets a drink for nothing.", GENEROUS, EARLY, seen, seen),
    Inclusion("loaded_in_early", "Nobody has a coin to begin with.", LOADED, EARLY, seen, seen),
    Inclusion("loaded_in_rest", "Somebody has paid by now.", LOADED, EARLY, seen, seen, from_any_state=True),
    Inclusion("warming_in_late", "Water does not show.", WARMING, LATE, seen, seen),
    Inclusion("all_alike", "Nothing shows.", EARLY, LATE, nothing_seen, nothing_seen),
    Inclusion("hidden", "States are left out.", HIDING, EARLY, seen, seen),
    Inclusion("breaking", "Not every state shows something.", EARLY, LATE, seen_choice, seen),
    Inclusion("unmarked", "No message is shown.", EARLY, LATE, unmarked, unmarked),
    Inclusion("numbered", "A sale is shown by its number.", LATE, LATE, seen_sale, seen_sale),
    Inclusion("unlike", "Two messages.", LATE, LATE, seen, seen_too),
]
