"""A refinement whose mapping breaks down in some states: of no behaviour, unless a place is given up."""

from __future__ import annotations

from checker.lang import Identity, Model, Option, action, init, refines, replace, require, state

SOURCE = "this file"


class Owner(Identity, size=2): ...


@state
class Register:
    owner: Owner


@action(who="register", source=SOURCE)
def hand_over(r: Register, owner: Owner) -> None:
    """The register gets another owner."""
    r.owner = owner


@init
def owned() -> Register:
    return Register(Owner(0))


@state
class Lease:
    holder: Option[Owner]


@action(who="holder", source=SOURCE)
def pass_on(s: Lease, owner: Owner) -> None:
    """The holder passes the lease on."""
    require(s.holder is not None)
    s.holder = owner


@action(who="nobody", source=SOURCE)
def find(s: Lease, owner: Owner) -> None:
    """A lease that nobody has is taken."""
    require(s.holder is None)
    s.holder = owner


@action(who="holder", source=SOURCE)
def give_up(s: Lease) -> None:
    """The holder gives the lease up."""
    require(s.holder is not None)
    s.holder = None


@refines(Model("register", "An owner.", owned, [hand_over], []), source=SOURCE)
def as_register(s: Lease) -> Register:
    """A lease is a register."""
    assert s.holder is not None
    return Register(s.holder)


@init
def held() -> Lease:
    return Lease(Owner(0))


KEPT = Model("kept", "A lease that is never given up.", held, [pass_on, find], [as_register])
GIVEN_UP = replace(KEPT, name="given_up", actions=[pass_on, give_up])
MODELS = [KEPT, GIVEN_UP]
