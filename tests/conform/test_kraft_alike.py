"""Of hosts that are alike, the first stands for all: those that differ in times only, and no others."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

from checker.conform.system import Refusal
from checker.lang.loader import load
from impl.adapters.kraft import SYSTEM
from impl.adapters.kraft.cluster import Cluster, ProcessHost
from impl.adapters.kraft.controllers import fence, without
from impl.adapters.kraft.processes import started
from impl.adapters.kraft.values import replace
from impl.kraft.controller import lease_timer


def cluster() -> Cluster:
    model = load("kraft/lossy")
    (state,) = model.initial_states()
    return SYSTEM.begin(model.constants, state)


def running() -> Any:
    return cluster().processes[0]


def again(host: Any) -> Any:
    """Another host that has the same."""
    return replace(host, core=host.core.copy(), timers=dict(host.timers))


def test_hosts_that_have_the_same_are_alike() -> None:
    host = running().alike()
    assert again(host) is not host
    assert again(host).alike() is host


def test_hosts_at_another_time_are_alike() -> None:
    host = running().alike()
    later = replace(again(host), now_ms=host.now_ms + 5, timers={name: at + 5 for name, at in host.timers.items()})
    assert later.alike() is host


def test_a_lease_that_has_run_out_is_not_like_one_that_runs() -> None:
    controller = cluster().controllers[0].alike()
    assert replace(controller, now_ms=controller.now_ms + 1).alike() is controller
    assert replace(controller, now_ms=controller.now_ms + 1_000_000).alike() is not controller


def test_it_does_not_matter_when_the_lease_of_a_fenced_broker_is_looked_after() -> None:
    """Nothing in the key says when it is due: whoever stands for another may not refuse what that one does."""
    made = cluster()
    host, image = made.controllers[0], made.controllers[0].image.copy()
    image.registrations[1] = dataclasses.replace(image.registrations[1], fenced=True)
    late = {lease_timer(broker_id): host.now_ms + 1 for broker_id in (0, 1)}
    made = made.with_controller(0, replace(host, image=image, timers=host.timers | late))
    assert isinstance(fence(made, 0, 0), Refusal) and fence(made, 0, 1) is made


def test_whatever_a_core_remembers_distinguishes_it() -> None:
    host = running().alike()
    remembers = again(host)
    remembers.core.counted = 3
    other = again(host)
    other.core.lifecycle.failures += 1
    assert len({id(one.alike()) for one in (host, remembers, other)}) == 3


def test_of_two_cores_of_different_classes_neither_stands_for_the_other() -> None:
    host = running().alike()
    other = again(host)
    other.core.__class__ = type("Broker", (type(host.core),), {})
    assert other.alike() is other


def test_a_core_whose_state_cannot_be_read_is_like_no_other() -> None:
    host = again(running())
    host.core.hook = lambda: None
    assert host.alike() is host
    assert again(host).alike() is not host


def test_two_requests_that_are_alike_are_both_under_way() -> None:
    made = cluster()
    host, sent = started(made.shape, 0, ProcessHost(), 7), made.processes[0]
    assert host.alike() is host and sent.alike() is sent
    sender = SYSTEM.step(made, "send_heartbeat", {"process": type("Place", (), {"index": 0})}, None)
    assert isinstance(sender, Cluster)
    (envelope,) = sender.lifecycle
    twice = replace(sender, lifecycle=(envelope, envelope))
    assert twice != sender
    assert without(twice.lifecycle, envelope) == (envelope,)


def test_hosts_that_come_from_another_process_are_those_that_are_alike_here() -> None:
    made = cluster()
    made = made.with_controller(0, made.controllers[0]).with_process(0, made.processes[0])
    came: Cluster = pickle.loads(pickle.dumps(made))
    assert came.controllers[0] is made.controllers[0] and came.processes[0] is made.processes[0]
