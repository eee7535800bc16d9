"""The system under test (SUT) as the engine of conformance sees it: the interface that an adapter implements.

An adapter imports this module, nothing else of the checker, and no spec. It reads states and arguments of the spec as
plain objects: records by attribute, maps by index, identities by `.index`, enums by `.name`, ordinals (which are ranks
here, sort by sort) by `.value`.

A structure (what is observed, and keys) is nested tuples, named tuples, frozensets and scalars (None, bool, int, str,
enum members); it is hashable. A named tuple gives its parts names in a report, any other tuple numbers them; as they
are compared as tuples, kinds of messages need a field that distinguishes them. A bag is a frozenset of (member, count).
Values of which only `==` and `<` matter (epochs, offsets) stand in it as ordinals; they are compared by rank, sort by
sort, so that the spec's ranks and the SUT's offsets are the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from checker.errors import FencepostError

S = TypeVar("S")
T = TypeVar("T", contravariant=True)
Structure = Hashable


class SystemLostError(FencepostError):
    """What an implementation runs in is gone or is not there: there is no verdict.

    An adapter raises any exception whose attribute `system_is_lost` is true; its text says what to do.
    """


class Ordinal(NamedTuple):
    """A value in a structure of which only the order within its sort matters. No other tuple may equal one."""

    sort: str
    value: int


class Refusal(NamedTuple):
    """The SUT did not do it, and is as it was. reason: what it answered, for the report."""

    reason: str


class Probe(NamedTuple):
    """A message that could land although it is not under way.

    name: how a report calls it. state: the spec state with it under way; system: the SUT with it under way. Both may
    leave out what the action cannot touch, as long as they leave out the same.
    """

    name: str
    state: Any
    system: Any
    action: str
    arguments: Mapping[str, Any]


class Receiver(NamedTuple):
    """A place where messages can land.

    key: all that decides what a message does there, in spec and SUT. Of receivers with equal keys, ordinals
    renamed by rank, one is probed.
    probes: makes what to try there, in an order that is always the same; any tuples of the shape of `Probe`.
    """

    key: Structure
    probes: Callable[[], Iterable[Probe]]


class System(Protocol[S]):
    """An implementation, driven by the names of the spec's actions. S: its whole state, an immutable value.

    A state shares with the one before it what the step did not touch. It can be pickled (for several processes).
    """

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        """The reason that it cannot be driven through a model with these constants and actions; "" where it can."""

    def begin(self, constants: Mapping[str, Any], state: Any) -> S:
        """The SUT in what the spec calls the initial state `state`, brought there by its own entry points."""

    def step(self, system: S, action: str, arguments: Mapping[str, Any], before: Any) -> S | Refusal:
        """Do what the spec's action says, through public entry points.

        before: the spec state, to find what is meant (which message is it?), not to decide. Which of its fields are
        read is noted, of records in it too, so that the step is recalled where they are the same.
        """

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        """Those of the model's actions of which something can be tried where the spec does not allow them."""

    def attempt(self, system: S, action: str, arguments: Mapping[str, Any], before: Any) -> S | Refusal | None:
        """Try an action that the spec does not allow here: refused, or nothing changes. None: nothing to be tried."""

    def receivers(
        self, system: S, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        """The places where messages can land that are not under way; any tuples of the shape of `Receiver`.

        classes: those of the spec by name, which its states are made of. actions: those of the model, by name.
        """

    def observe(self, system: S) -> Structure:
        """The observable state of the SUT, from the records and replies it gave and the messages it sent."""

    def expect(self, state: Any) -> Structure:
        """A spec state as seen from outside: every part of it that an implementation has to show."""

    def key(self, system: S) -> Structure:
        """All that decides what the SUT does from here on and that `observe` does not show.

        Of SUTs that are equal in both by rank, the exploration goes on with the one that it met first, whatever spec
        states they are in.
        """


@runtime_checkable
class SetsApart(Protocol[T]):
    """An adapter with SUTs that have equal keys, and of which one cannot stand for the other in another spec state."""

    def apart(self, system: T) -> Structure:
        """What decides nothing yet, and will be in the key: what the spec refuses may change it. None where nothing.

        In the same spec state, one SUT goes on for all with its key even so.
        """
