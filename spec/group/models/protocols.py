"""Other protocols: sockets that are closed (section 2), and the barrier of Kafka 0.9."""

from __future__ import annotations

from checker.lang import Model
from spec.group import properties
from spec.group.actions import coordinator, failure, rebalance, sockets, startup
from spec.group.design import SETTINGS
from spec.group.initial import nobody_registered
from spec.group.models.rebalances import DEATH, ENDS, FAILOVER, JOIN, NOT_MODELLED, REBALANCE, SAFETY, STEPS, fairly

SECTION2 = Model(
    name="section2",
    doc="Two consumers under the protocol of section 2; one dies, and the coordinator's session ends under it.",
    init=nobody_registered,
    actions=fairly(
        startup.connect,
        startup.take_answer,
        sockets.register,
        sockets.close_sockets,
        sockets.complete,
        sockets.write,
        sockets.find_dead,
        failure.suspect,
        *FAILOVER,
        coordinator.expire,
        failure.crash,
        failure.restart,
    ),
    properties=(
        *(
            p for p in SAFETY if p is not properties.rebalances.response_clears_its_own_watcher
        ),  # nobody is asked to stop
        *STEPS,
        properties.rebalances.waiting_group_has_its_bit_set,
        properties.memory.members_are_stored,
        properties.memory.who_is_waited_for_has_no_socket,
        properties.memory.assignment_waits_for_all,
        *ENDS,
        properties.liveness.suspicions_end,
        properties.witnesses.everything_is_fetched,
        properties.witnesses.refused,
        properties.witnesses.two_coordinators,
    ),
    constants={"by_sockets": True, "max_expiries": 1, "max_crashes": 1},
    settings={"repaired": {}, "section2": SETTINGS["section2"]},
    faults="one consumer that dies, one session with ZooKeeper that ends under a live coordinator",
    not_modelled=NOT_MODELLED,
)

BARRIER = Model(
    name="barrier",
    doc="Two consumers and a barrier of rejoining; one is late, and the coordinator's session ends under it.",
    init=nobody_registered,
    actions=(
        *JOIN,
        *REBALANCE,
        *DEATH,
        *FAILOVER,
        rebalance.time_out,
        coordinator.expire,
    ),
    properties=(*SAFETY, *STEPS, properties.witnesses.two_coordinators, properties.witnesses.late_rejoins),
    constants={"join_barrier": True, "max_time_outs": 1, "max_expiries": 1},
    settings={"repaired": {}, "shipped": SETTINGS["shipped"]},
    faults="one time-out, one session with ZooKeeper that ends under a live coordinator",
    not_modelled=NOT_MODELLED,
)

MODELS = [SECTION2, BARRIER]
