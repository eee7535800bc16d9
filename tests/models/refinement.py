"""A lease handed over through a message implements a register with at most one owner.

The abstract spec knows an owner and an epoch that rises with each change. The concrete one gives the
lease up first and grants it later, by a message; `early` lets the granter write down the new owner
before the old one has given up, which no abstract step allows.
"""

from __future__ import annotations

from checker.lang import (
    Identity,
    Model,
    Option,
    Ordinal,
    action,
    constants,
    fresh,
    init,
    refines,
    require,
    state,
)


@constants
class Switches:
    early: bool = False
    "Grant before the old owner gave up."


class Owner(Identity, size=3): ...


class Epoch(Ordinal): ...


@state
class Register:
    owner: Option[Owner]
    epoch: Epoch


@action(who="register", source="this file")
def take(r: Register, owner: Owner) -> None:
    """A free register gets an owner and a new epoch."""
    require(r.owner is None)
    r.owner = owner
    r.epoch = fresh(r, Epoch)


@action(who="register", source="this file")
def free(r: Register) -> None:
    """The owner lets go."""
    require(r.owner is not None)
    r.owner = None


@init
def unowned() -> Register:
    return Register(None, Epoch(0))


@state
class Lease:
    holder: Option[Owner]
    offered: Option[Owner]
    epoch: Epoch
    offered_epoch: Option[Epoch]


@action(who="granter", source="this file")
def offer(s: Lease, owner: Owner) -> None:
    """The granter offers the lease under a new epoch."""
    require(s.offered is None)
    require(s.holder is None or Switches.early)
    s.offered = owner
    s.offered_epoch = fresh(s, Epoch)


@action(who="holder", source="this file")
def accept(s: Lease) -> None:
    """The offer is taken up."""
    require(s.offered is not None)
    s.holder = s.offered
    s.epoch = s.offered_epoch  # type: ignore[assignment]  # offered with it; an assert would be a check of its own
    s.offered = None
    s.offered_epoch = None


@action(who="holder", source="this file")
def give_up(s: Lease) -> None:
    """The holder gives the lease up."""
    require(s.holder is not None)
    s.holder = None


@refines(Model("register", "An owner and its epoch.", unowned, [take, free], []), source="this file")
def as_register(s: Lease) -> Register:
    """A lease is a register: an offer is not seen until it is accepted."""
    return Register(s.holder, s.epoch)


@init
def nobody() -> Lease:
    return Lease(None, None, Epoch(0), None)


MODELS = [Model("lease", "A lease granted by a message.", nobody, [offer, accept, give_up], [as_register])]
