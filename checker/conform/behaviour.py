"""One behaviour, step by step: the spec as plain Python, and the SUT driven along it exactly as in an exploration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.conform.canonical import Canonical
from checker.conform.driver import Diverges, Driver
from checker.conform.spec_side import classes_of
from checker.conform.system import Probe, System
from checker.lang.loader import BoundModel
from checker.lang.scalars import canonical
from checker.reference.step import Reference, StepResult


class Behaviour:
    """The spec and the SUT after the steps so far.

    plain: the spec's state as a trace shows it, where ordinals grow; state: the same with its ordinals by rank, which
    the SUT's adapter is given; system: the SUT. plains: all of `plain` so far.
    """

    def __init__(self, model: BoundModel, system: System[Any]) -> None:
        self.model, self.reference = model, Reference(model)
        self._adapter, self._canonical = system, Canonical()
        self.driver = Driver(self.reference, system, self._canonical)
        self.plains: list[Any] = []
        self.state: Any = None
        self.system: Any = None

    @property
    def plain(self) -> Any:
        return self.plains[-1]

    def begin(self, number: int) -> None:
        """Go to the initial state with this number. Raises Diverges."""
        self._spec_goes_to(self.model.initial_states()[number])
        try:
            self.system = self.driver.begin(self.model.constants, self.state, self._looks(self.state)).system
        except Diverges as diverges:
            diverges.spec = self.plain
            raise

    def step(self, instance: int) -> None:
        """Take a step that the spec takes. Raises Diverges; the spec has made the step then."""
        before, name = self.state, self._action(instance)
        arguments = self.arguments(instance)
        self._spec_goes_to(self.result(instance).state)
        try:
            self.system = self.driver.step(self.system, name, arguments, before, self._looks(self.state)).system
        except Diverges as diverges:
            diverges.spec = self.plain
            raise

    def attempt(self, instance: int) -> None:
        """Try a step that the spec refuses. Raises Diverges."""
        try:
            self.driver.attempt(self.system, self._action(instance), self.arguments(instance), self.state)
        except Diverges as diverges:
            diverges.spec = self.plain
            raise

    def probes(self) -> list[list[Probe]]:
        """Messages that could land here, by receiver."""
        classes = classes_of(self.model.state_type)
        found = self._adapter.receivers(self.system, self.state, classes, self.driver.actions)
        return [[Probe(*probe) for probe in probes()] for _, probes in found]

    def probe(self, probe: Probe) -> None:
        """Let a message land that is not under way. Raises Diverges."""
        try:
            self.driver.probe(probe)
        except Diverges as diverges:
            diverges.spec = diverges.spec or probe.state
            raise

    def result(self, instance: int) -> StepResult:
        """The result of an instance by the spec, as a trace shows it."""
        return self.reference.step(self.plain, instance)

    def arguments(self, instance: int) -> Mapping[str, Any]:
        """The parameters of an instance, ordinals by rank."""
        values = self.reference.arguments(self.state, instance)
        assert values is not None, "a member was taken that is not there"
        parameters = self.reference.parameters[self.reference.instances[instance][0]]
        return dict(zip((p.name for p in parameters), values, strict=True))

    def _action(self, instance: int) -> str:
        return self.reference.actions[self.reference.instances[instance][0]].name

    def _spec_goes_to(self, state: Any) -> None:
        assert state is not None, "a step was taken that the spec refuses"
        self.plains.append(state)
        self.state = self.model.state_type.decode(canonical(self.model.state_type, state))

    def _looks(self, state: Any) -> Any:
        return self._canonical.of(self._adapter.expect(state))
