"""The models of leases in time: one lost message or a stalled queue, failovers, a new incarnation."""

from __future__ import annotations

from checker.lang import Model
from spec.kraft import properties, timed

ALWAYS = (
    properties.timed.fenced_after_silence,
    properties.timed.live_broker_is_not_fenced,
    properties.timed.silent_broker_is_fenced_in_time,
    properties.timed.lease_is_as_old_as_the_silence,
    properties.timed.heartbeat_takes_its_course,
    properties.timed.queue_moves_as_a_whole,
    properties.timed.clocks_run_alike,
    properties.timed.message_takes_its_time,
    properties.timed.answered_at_once,
    properties.timed.dead_broker_fenced,
)
EXCHANGE = (timed.tick, timed.send, timed.arrive, timed.process, timed.reply, timed.fence)

DRAFT = {
    "heartbeat_interval_ticks": 6,
    "session_timeout_ticks": 36,
    "request_timeout_ticks": 60,
    "lease_from_arrival": False,
}

TIMED = Model(
    name="timed",
    doc="One lease in ticks of 500 ms: one lost message, or a queue that stalls for up to 12 s.",
    init=timed.just_heard,
    actions=(*EXCHANGE, timed.stall, timed.lose, timed.crash_broker),
    properties=(
        *ALWAYS,
        properties.timed.heartbeats_wait_for_the_queue,
    ),
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False},
        "draft": DRAFT,
    },
    faults="one mishap: a message that the network swallows, or a controller thread that is blocked for up to 12 s",
    not_modelled="everything but the lease of one broker; backoff before a request is sent again. draft: the document "
    "names no request timeout, so Kafka's default of 30 s is taken",
)

TIMED_FAILOVER = Model(
    name="timed_failover",
    doc="One lease in ticks of 500 ms, over two failovers of the active controller; nothing else is lost.",
    init=timed.just_heard,
    actions=(*EXCHANGE, timed.change_controller, timed.miss, timed.hear_of_controller, timed.crash_broker),
    properties=(
        *ALWAYS,
        properties.timed.broker_turns_to_the_active_controller,
        properties.timed.hears_while_it_waits,
        properties.timed.silent_for_as_long_as_may_be,
    ),
    constants={"max_failovers": 2, "max_mishaps": 0},
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False, "lease_check_by_timer": False},
        "draft": DRAFT,
    },
    faults="two failovers, each at the worst moment, of controllers that go without a word",
    not_modelled="everything but the lease of one broker; backoff before a request is sent again; lost messages and "
    "stalls besides (see `timed`). draft: as in `timed`",
)

TIMED_REGISTRATION = Model(
    name="timed_registration",
    doc="One lease in ticks of 500 ms, and a new incarnation of the broker that died; one mishap, one failover.",
    init=timed.just_heard,
    actions=(
        *EXCHANGE,
        timed.stall,
        timed.lose,
        timed.change_controller,
        timed.miss,
        timed.hear_of_controller,
        timed.crash_broker,
        timed.start_again,
        timed.register,
    ),
    properties=(
        *(one for one in ALWAYS if one is not properties.timed.live_broker_is_not_fenced),
        properties.timed.id_is_given_when_its_lease_is_over,
        properties.timed.successor_asks_for_the_id,
        properties.timed.registration_waits_for_a_stall_only,
        properties.timed.refusals_end_in_time,
        properties.timed.registration_is_refused,
        properties.timed.registered_after_its_predecessor,
    ),
    constants={"max_failovers": 1, "max_mishaps": 1, "max_restarts": 1},
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False, "lease_check_by_timer": False},
        "draft": DRAFT,
    },
    faults="a broker dies and starts again, while the controller's queue stalls or a message is lost, and "
    "the controller fails over: a bad day",
    not_modelled="everything but the lease of one broker id; how a registration travels. draft: as in `timed`",
)

MODELS = [TIMED, TIMED_FAILOVER, TIMED_REGISTRATION]
