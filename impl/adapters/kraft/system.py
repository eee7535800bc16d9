"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.kraft import (
    at_will,
    controllers,
    expected,
    initial,
    internal_state,
    lifecycle,
    network,
    observed,
    processes,
    quorum,
)
from impl.adapters.kraft.attempts import ATTEMPTS
from impl.adapters.kraft.cluster import Cluster
from impl.adapters.kraft.core import Core, PythonCore
from impl.adapters.kraft.probes import receivers
from impl.adapters.kraft.values import forgetting
from impl.adapters.kraft.views import ClusterView

Arguments = Mapping[str, Any]
Action = Callable[[Cluster, Arguments, Any], Cluster | Refusal]

STEPS: dict[str, Action] = {
    # Processes.
    "start": processes.start,
    "start_second": processes.start,
    "send_registration": processes.send_registration,
    "receive_registration_reply": processes.receive_reply,
    "send_heartbeat": processes.send_heartbeat,
    "receive_heartbeat_reply": processes.receive_reply,
    "finish_recovery": processes.finish_recovery,
    "apply_metadata": processes.apply_metadata,
    "answer_metadata": processes.answer_metadata,
    "sigterm": processes.sigterm,
    "finish_shutdown": processes.finish_shutdown,
    "write": processes.write,
    "fetch": processes.fetch,
    "shrink_isr": processes.shrink_isr,
    "send_alter_isr": processes.send_alter_isr,
    "receive_alter_isr_reply": processes.receive_alter_isr_reply,
    "advance_high_watermark": processes.advance_high_watermark,
    # The controller.
    "handle_registration": network.handle_lifecycle,
    "handle_heartbeat": network.handle_lifecycle,
    "handle_alter_isr": network.handle_alter_isr,
    "fence_expired": controllers.fence_expired,
    "fence_two_expired": controllers.fence_two_expired,
    "fail_over": controllers.fail_over,
    "grow_log": controllers.grow_log,
    "reassign": controllers.reassign,
    "cancel_reassignment": controllers.cancel_reassignment,
    "elect_preferred": controllers.elect_preferred,
    "create_topic": controllers.create_topic,
    "delete_topic": controllers.delete_topic,
    "unregister": controllers.unregister,
    "confirm_removal": controllers.confirm_removal,
    "list_reassignment": controllers.list_reassignment,
    # The quorum.
    "elect": quorum.elect,
    "hear_of_leader": quorum.hear_of_leader,
    "claim": quorum.claim,
    "find_controller": quorum.find_controller,
    "fetch_batch": quorum.fetch_batch,
    "catch_up": quorum.catch_up,
    "commit_batch": quorum.commit_batch,
    "write_snapshot": quorum.write_snapshot,
    "load_snapshot": quorum.load_snapshot,
    # Several steps in one. None is that of `come_back`, as no broker runs without metadata, nor of `go_down` before it.
    "fence_alive": lifecycle.fence_alive,
    "unfence_alive": lifecycle.unfence_alive,
    "alter_isr_at_once": lifecycle.alter_isr_at_once,
    # Brokers that ask for anything.
    "register_at_will": at_will.register,
    "heartbeat_at_will": at_will.heartbeat,
    "orderly_heartbeat": at_will.heartbeat,
    "alter_isr_at_will": at_will.alter_isr,
    "ask_too_late": at_will.ask_too_late,
    # Time, the network, and what goes wrong.
    "expire_lease": controllers.expire_lease,
    "expire_lease_early": controllers.expire_lease,
    "crash": processes.crash,
    "crash_losing_disk": processes.crash_losing_disk,
    "lose_lifecycle_request": network.lose_lifecycle_request,
    "refuse_lifecycle_request": network.refuse_lifecycle_request,
    "refuse_alter_isr": network.refuse_alter_isr,
    "lose_lifecycle_reply": network.lose_lifecycle_reply,
    "lose_alter_isr": network.lose_alter_isr,
    "lose_alter_isr_reply": network.lose_alter_isr_reply,
    "copy_registration": network.copy_lifecycle_request,
    "copy_heartbeat": network.copy_lifecycle_request,
    "copy_alter_isr": network.copy_alter_isr,
}


class KraftUnderTest:
    """A core of the design as `checker.conform.system.System` asks for it."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        never = {"go_down", "come_back"} if constants["max_crashes"] == 0 else set()
        missing = [action for action in actions if action not in STEPS and action not in never]
        return f"no step is that of {', '.join(missing)}" if missing else ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Cluster:
        return initial.begin(self._core, constants, state)

    def step(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal:
        if not system.is_probed:
            return STEPS[action](system, arguments, before)
        with forgetting():
            return STEPS[action](system, arguments, before)

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return ATTEMPTS.keys()

    def attempt(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        attempt = ATTEMPTS.get(action)
        return None if attempt is None else attempt(system, arguments, before)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return receivers(system, before, classes, actions)

    def observe(self, system: Cluster) -> ClusterView:
        return observed.observe(system)

    def expect(self, state: Any) -> ClusterView:
        return expected.expect(state)

    def key(self, system: Cluster) -> Hashable:
        return internal_state.key(system)

    def apart(self, system: Cluster) -> Hashable:
        return internal_state.apart(system)


SYSTEM = KraftUnderTest(PythonCore())
