"""Time: the two timers of one lease."""

from __future__ import annotations

from checker.lang import Model, deadlock_free
from spec.heartbeat import timed

TIMED = Model(
    name="timed",
    doc="One lease in ticks of 500 ms: the timers of broker and controller, lost messages, stalls, pauses, drift.",
    init=timed.just_answered,
    actions=(
        timed.tick,
        timed.send,
        timed.arrive,
        timed.handle,
        timed.take_reply,
        timed.fence,
        timed.expire,
        timed.lose,
        timed.stall,
        timed.pause,
    ),
    properties=(
        timed.nobody_serves_after_expiry,
        timed.timers_decide,
        timed.nobody_dawdles,
        timed.time_passes_for_both,
        timed.heartbeat_takes_its_way,
        timed.lease_is_renewed_by_a_heartbeat,
        timed.mishap_has_its_effect,
        timed.undisturbed_broker_serves,
        deadlock_free,
        timed.clock_misses_a_tick,
        timed.fenced_and_back,
        timed.woken_late,
        timed.waits_in_the_queue,
        timed.heard_of_again,
        timed.heartbeat_is_lost,
        timed.answer_is_lost,
    ),
    constants={},
    settings={"repaired": {}, "draft": {"broker_timeout_ticks": 24, "lease_from_sending": False}},
    faults="two lost messages, stalls of the controller's queue or pauses of the broker, and a slow clock",
    not_modelled="everything but the lease; a pause between looking at the clock and answering",
)

TIMED_QUEUE = Model(
    name="timed_queue",
    doc="One lease, nothing is lost and nobody is paused; the controller's queue stands still once, for 2.5 s at most.",
    init=timed.just_answered,
    actions=(timed.tick, timed.send, timed.arrive, timed.handle, timed.take_reply, timed.stall),
    properties=(
        timed.reachable_broker_serves,
        timed.nobody_dawdles,
        timed.time_passes_for_both,
        timed.heartbeat_takes_its_way,
        timed.lease_is_renewed_by_a_heartbeat,
        timed.mishap_has_its_effect,
        deadlock_free,
        timed.clock_misses_a_tick,
        timed.waits_in_the_queue,
        timed.heartbeat_is_repeated,
    ),
    constants={"max_stall_ticks": 5, "max_mishaps": 1},
    faults="one stall of the controller's queue, and a slow clock",
    not_modelled="everything but the lease; lost messages, pauses",
)

MODELS = [TIMED, TIMED_QUEUE]
