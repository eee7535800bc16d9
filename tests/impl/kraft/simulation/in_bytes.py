"""Simulated runs in which what nodes say to each other goes through the bytes of the wire, as between processes.

usage: python -m tests.impl.kraft.simulation.in_bytes [--cluster] [--first SEED] [--seeds N]

A run in bytes must be the same run, event for event, as that in objects. Not in bytes: what operators ask for, and
what followers fetch from leaders of partitions. Exit codes: 0 all are the same, 1 some are not.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

from impl.kraft.image import Image
from impl.kraft.messages import AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest
from impl.kraft.raft.messages import RESPONSES
from impl.kraft.server import admin_wire, broker_wire, controller_wire, quorum_wire
from impl.kraft.simulation.cluster import Cluster
from impl.kraft.simulation.core import Core
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import Plan, cluster_plan_of, plan_of

OF_BROKERS = (BrokerRegistrationRequest, BrokerHeartbeatRequest, AlterPartitionRequest)


def as_read(request: Any) -> Any:
    """A request as its receiver reads it."""
    if type(request) in RESPONSES:
        return quorum_wire.read_request(quorum_wire.key_of(request), quorum_wire.request_bytes(request))
    key, version = broker_wire.key_of(request)
    body = broker_wire.request_bytes(request)
    if key == admin_wire.ALTER_PARTITION:
        (found,) = admin_wire.read_parts(key, body, Image()).requests
        return found
    return controller_wire.read_request(key, version, body)


def as_heard(request: Any, response: Any) -> Any:
    """A response as who has sent the request reads it."""
    if type(request) in RESPONSES:
        return quorum_wire.read_response(request, quorum_wire.response_bytes(response))
    key, version = broker_wire.key_of(request)
    if key == admin_wire.ALTER_PARTITION:
        parts = admin_wire.read_parts(key, broker_wire.request_bytes(request), Image())
        return broker_wire.read_response(request, parts.response_bytes([response]))
    return broker_wire.read_response(request, controller_wire.response_bytes(key, version, request, response))


class InBytes(Simulation):
    """exchanged: how many requests and responses were bytes."""

    exchanged = 0

    def exchange(
        self, sender: int, to: int, request: object, handled: Callable[[int, Core], Sequence[object]],
        answered: Callable[[Any, Core], Sequence[object]],
    ) -> None:  # fmt: skip
        """What is read must be what was written: it is handed on as it was."""
        if type(request) not in RESPONSES and not isinstance(request, OF_BROKERS):
            super().exchange(sender, to, request, handled, answered)
            return
        self._same(request, as_read(request))

        def heard(response: Any, core: Core) -> Sequence[object]:
            if response is not None:
                self._same(response, as_heard(request, response))
            return answered(response, core)

        super().exchange(sender, to, request, handled, heard)

    def _same(self, written: object, read: object) -> None:
        self.exchanged += 1
        if written != read:
            raise BrokenRuleError(f"bytes: {written} is read as {read}")


class ClusterInBytes(InBytes, Cluster):
    """Of whole nodes, with brokers."""


def run(plan: Plan) -> InBytes:
    """A run that has ended. Raises what a run raises."""
    found = ClusterInBytes(plan) if plan.swarm.brokers else InBytes(plan)
    found.go()
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.simulation.in_bytes")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=100)
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    exchanged = broken = 0
    for seed in range(options.first, options.first + options.seeds):
        try:
            exchanged += run((cluster_plan_of if options.cluster else plan_of)(seed)).exchanged
        except BrokenRuleError as error:
            broken += 1
            print(f"seed {seed}: {error}")
    print(f"{options.seeds} runs, {exchanged} requests and responses in bytes, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
