"""Time: the two timers of one lease."""

from __future__ import annotations

from checker.lang import Model
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
    properties=(timed.nobody_serves_after_expiry, timed.timers_decide, timed.fenced_and_back, timed.woken_late),
    constants={},
    settings={"repaired": {}, "draft": {"broker_timeout_ticks": 24, "lease_from_sending": False}},
    faults="two lost messages, stalls of the controller's queue or pauses of the broker, and a slow clock",
    not_modelled="everything but the lease; a pause between looking at the clock and answering",
)

MODELS = [TIMED]
