"""Decorators for what must eventually happen, and for the fairness that makes it happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from checker.lang.declare import Declared, F, _bare, declared_as
from checker.lang.errors import SpecError
from checker.lang.where import caller_place


def _actions(found: Declared | Sequence[Declared] | None, what: str, hint: str) -> tuple[Declared, ...]:
    """The actions that a decorator was given. what: it, as text. Raises SpecError at the line of the decorator."""
    listed = () if found is None else (found,) if isinstance(found, Declared) else tuple(found)
    for one in listed:
        if not isinstance(one, Declared) or one.kind != "action":
            name = getattr(one, "name", getattr(one, "__name__", one))
            raise SpecError(f"{what} refers to {name}, which is not an action", place=caller_place(2), hint=hint)
    if found is not None and not listed:
        raise SpecError(f"{what} refers to no action", place=caller_place(2), hint=hint)
    return listed


def leads_to(
    function: None = None, /, *, source: str = "", taken: Declared | Sequence[Declared] | None = None
) -> Callable[[F], Declared]:
    """Wherever the condition holds, the goal holds then or later: `(s, *parameters) -> (condition, goal)`.

    One obligation for each binding of the parameters, which range over types. taken: an action, or several: the goal
    is that one of them is taken in a state where the goal holds, and changes something. Parameters of an action that
    are called as those of the property have its values.
    """
    _bare(function, "leads_to", '@leads_to(source="KIP-631, Broker Leases")')
    actions = _actions(taken, "@leads_to", "@leads_to(taken=send)")
    return lambda function: declared_as(function, "leads-to", source=source, actions=actions)


def eventually(
    function: None = None, /, *, source: str = "", taken: Declared | Sequence[Declared] | None = None
) -> Callable[[F], Declared]:
    """From every initial state on, the goal holds at some time: `(s, *parameters) -> bool`. taken: as of `leads_to`."""
    _bare(function, "eventually", '@eventually(source="KIP-631, Broker Leases")')
    actions = _actions(taken, "@eventually", "@eventually(taken=send)")
    return lambda function: declared_as(function, "eventually", source=source, actions=actions)


def always_eventually(
    function: None = None, /, *, source: str = "", taken: Declared | Sequence[Declared] | None = None
) -> Callable[[F], Declared]:
    """The goal holds infinitely often: `(s, *parameters) -> bool`; in TLA+ []<>P. taken: as of `leads_to`."""
    _bare(function, "always_eventually", '@always_eventually(source="KIP-631, Broker Leases")')
    actions = _actions(taken, "@always_eventually", "@always_eventually(taken=send)")
    return lambda function: declared_as(function, "always eventually", source=source, actions=actions)


def eventually_always(function: None = None, /, *, source: str = "") -> Callable[[F], Declared]:
    """From some time on the goal holds forever: `(s, *parameters) -> bool`; in TLA+ <>[]P."""
    _bare(function, "eventually_always", '@eventually_always(source="KIP-631, Broker Leases")')
    return lambda function: declared_as(function, "eventually always", source=source)


def weak_fairness(*actions: Declared, source: str = "") -> Callable[[F], Declared]:
    r"""Weak fairness of a group of actions, `(s, *parameters) -> bool`; in TLA+ WF_vars(P /\ (A \/ B)).

    Some step of these actions is taken infinitely often from states where P holds, unless there are infinitely often
    states in which P does not hold or none of them can change anything. One fairness for each binding of the
    parameters, which range over types: parameters of an action that are called so have these values, its others have
    any. Listed as `fairness` of a model.
    """
    found = _actions(actions, "@weak_fairness", "@weak_fairness(send, receive)")
    return lambda function: declared_as(function, "fairness", source=source, fair="weak", actions=found)


def strong_fairness(*actions: Declared, source: str = "") -> Callable[[F], Declared]:
    r"""Strong fairness of a group of actions, as `weak_fairness`; in TLA+ SF_vars(P /\ (A \/ B)).

    Some step of these actions is taken infinitely often from states where P holds, if there are infinitely often
    states in which P holds and one of them can change something.
    """
    found = _actions(actions, "@strong_fairness", "@strong_fairness(send, receive)")
    return lambda function: declared_as(function, "fairness", source=source, fair="strong", actions=found)
