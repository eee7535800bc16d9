"""Holding the SUT to the spec at one place of the product: one step, one attempt, one probe."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from checker.conform.canonical import Canonical, Digest
from checker.conform.graph import UnreadableStateError
from checker.conform.system import Probe, Refusal, SetsApart, Structure, System, SystemLostError
from checker.lang.errors import SpecError
from checker.lang.ir import EventKind
from checker.reference.step import Reference, StepResult, step

MOST_REMEMBERED = 1 << 16  # SUTs, with what they look like and their keys; beyond it all are forgotten
OTHERWISE = "the spec does it, and the implementation is elsewhere after it"
CHANGED = "the spec refuses it, and the implementation does something"
HIDDEN = "the spec refuses it, and the implementation does not show that it remembers something of it"


class Diverges(Exception):
    """The SUT does not what the spec does. The message says what it does.

    spec: the spec's state after the step; system: the SUT's, where there is one. before: the SUT before it, where it
    remembers what it should not.
    """

    def __init__(self, reason: str, *, spec: Any = None, system: Any = None, before: Any = None) -> None:
        super().__init__(reason)
        self.spec, self.system, self.before = spec, system, before


class Held(NamedTuple):
    """A SUT that looks as it should.

    key: of it and what it shows. apart: equal where the adapter does not set SUTs with this key apart either.
    """

    system: Any
    key: Digest
    apart: Digest


class Driver:
    """Drives one SUT. All methods but `outcome` raise Diverges."""

    def __init__(self, reference: Reference, system: System[Any], canonical: Canonical) -> None:
        self._system, self._canonical = system, canonical
        self._apart = system.apart if isinstance(system, SetsApart) else _nothing
        self._actions = {action.name: action for action in reference.actions}
        self._parameters = dict(zip(self._actions, reference.parameters, strict=True))
        self._pairs: dict[Any, tuple[Digest, Digest, Digest]] = {}
        self._before: tuple[Any, tuple[Structure, Structure]] = None, (None, None)

    @property
    def actions(self) -> Collection[str]:
        """The actions of the model, by name."""
        return self._actions.keys()

    def begin(self, constants: Mapping[str, Any], state: Any, looks: Digest) -> Held:
        """The SUT brought to an initial state."""
        with _diverging():
            return self._held(self._system.begin(constants, state), looks)

    def step(self, system: Any, action: str, arguments: Mapping[str, Any], before: Any, looks: Digest) -> Held:
        """The SUT after a step that the spec takes. looks: of the spec's state after it."""
        with _diverging(system):
            return self._held(self._stepped(system, action, arguments, before), looks)

    def _stepped(self, system: Any, action: str, arguments: Mapping[str, Any], before: Any) -> Any:
        after = self._system.step(system, action, arguments, before)
        if isinstance(after, Refusal):
            raise Diverges(f"the spec does it, the implementation does not: {after.reason}", system=system)
        return after

    def _held(self, system: Any, looks: Digest) -> Held:
        shown, key, apart = self._paired(system)
        if shown != looks:
            raise Diverges(OTHERWISE, system=system)
        return Held(system, key, apart)

    def _paired(self, system: Any) -> tuple[Digest, Digest, Digest]:
        """What a SUT shows, and the digests of `Held`; it was perhaps reached on another way before."""
        found = self._pairs.get(system)
        if found is None:
            if len(self._pairs) > MOST_REMEMBERED:
                self._pairs.clear()
            found = self._pairs[system] = self._canonical.three(*self._whole(system), self._apart(system))
        return found

    def attempt(self, system: Any, action: str, arguments: Mapping[str, Any], before: Any) -> bool:
        """Try what the spec refuses. Whether there was something to try."""
        with _diverging(system):
            after = self._system.attempt(system, action, arguments, before)
            if after is None or after is system or isinstance(after, Refusal) or after == system:
                return after is not None
            old, new = self._whole_before(system), self._whole(after)
        if old == new:
            return True
        (looked, key), (looks, new_key) = self._canonical.pair(*old), self._canonical.pair(*new)
        if looked != looks:
            raise Diverges(CHANGED, system=after)
        if key != new_key:
            raise Diverges(HIDDEN, system=after, before=system)
        return True

    def _whole(self, system: Any) -> tuple[Structure, Structure]:
        try:
            return self._system.observe(system), self._system.key(system)
        except UnreadableStateError as error:
            hint = "its adapter can give the field a rule, or leave it out with a reason"
            raise SpecError(f"the state of the implementation cannot be read: {error}", hint=hint) from error

    def _whole_before(self, system: Any) -> tuple[Structure, Structure]:
        """The whole of a SUT at which much is tried, one attempt after the other."""
        if self._before[0] is not system:
            self._before = system, self._whole(system)
        return self._before[1]

    def probe(self, probe: Probe) -> bool:
        """Let a message land that is not under way. Whether there was something to try.

        Raises SpecError for a message that the spec cannot make sense of.
        """
        _, state, system, action, arguments = probe
        result = self.outcome(probe)
        if result.ended is EventKind.CUT:
            return False
        if result.ended is not None:
            return self.attempt(system, action, arguments, state)
        looks = self._canonical.of(self._system.expect(result.state))
        try:
            with _diverging(system):
                after = self._stepped(system, action, arguments, state)
                if self._canonical.of(self._system.observe(after)) != looks:
                    raise Diverges(OTHERWISE, system=after)
        except Diverges as diverges:
            diverges.spec = result.state
            raise
        return True

    def outcome(self, probe: Probe) -> StepResult:
        """The result of a probe by the spec. Raises SpecError for one that it cannot interpret."""
        action = self._actions.get(probe.action)
        if action is None:
            raise SpecError(f"the probe {probe.name} is for {probe.action}, and the model has no such action",
                            hint="an adapter probes actions of the model only")  # fmt: skip
        names = [parameter.name for parameter in self._parameters[probe.action]]
        result = step(probe.state, action, tuple(probe.arguments[name] for name in names))
        if result.ended is EventKind.ERROR:
            raise SpecError(f"the spec breaks down on the probe {probe.name}: {result.reason}",
                            hint="an adapter probes with messages that some sender could have sent")  # fmt: skip
        return result


@contextmanager
def _diverging(system: Any = None) -> Iterator[None]:
    """An exception of the implementation, raised inside, is a divergence. system: before it."""
    try:
        yield
    except (Diverges, SpecError):
        raise
    except Exception as error:
        raise Diverges(_raised(error), system=system) from error


def _nothing(_: Any) -> Structure:
    return None


def _raised(error: Exception) -> str:
    """What an exception of the implementation says. Raises SystemLostError for one that is none of its own."""
    if getattr(error, "system_is_lost", False):
        raise SystemLostError(str(error)) from error
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"the implementation raised {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
