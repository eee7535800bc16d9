"""Sessions in time: pings each S/3, retries, delays, a pause, and a connection that is cut one way."""

from __future__ import annotations

from checker.lang import Model
from spec.group import properties, timed

TIMED = Model(
    name="timed",
    doc="One consumer in ticks of S/6; its connection is cut one way or both, or it is paused.",
    init=timed.registered,
    actions=(
        timed.tick,
        timed.send_ping,
        timed.take_ping,
        timed.take_answer,
        timed.declare_dead,
        timed.stop,
        timed.pause,
        timed.wake,
        timed.cut,
    ),
    properties=(
        properties.timed.dead_has_stopped,
        properties.timed.nobody_dies_for_nothing,
        properties.timed.nobody_stops_for_nothing,
        properties.timed.nothing_follows_the_end,
        properties.timed.timers_decide,
        properties.timed.nobody_dawdles,
        properties.timed.time_passes_for_all,
        properties.timed.ping_takes_its_way,
        properties.timed.lease_is_of_an_answer,
        properties.timed.answer_is_read_in_time,
        properties.timed.fault_has_its_effect,
        properties.timed.declared_dead,
        properties.timed.stopped,
        properties.timed.late,
        properties.timed.answered,
        properties.timed.short_pause,
        properties.timed.cut_both_ways,
    ),
    constants={"max_pause_ticks": 8, "max_cuts": 2},
    settings={
        "repaired": {},
        "draft": {
            "lease_from_answers": False,
            "counts_answers": False,
            "equal_sessions": False,
            "timer_before_requests": False,
        },
    },
    faults="one pause of up to 4 S/3; requests and answers that are cut off for good",
    not_modelled="everything but pings",
)

MODELS = [TIMED]
