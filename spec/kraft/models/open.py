"""The controller under the most general clients: brokers that ask for anything at any time. See `actions.at_will`."""

from __future__ import annotations

from checker.lang import Inclusion, Model
from spec.kraft import properties
from spec.kraft.actions import at_will, controller, faults
from spec.kraft.design import SETTINGS
from spec.kraft.initial import late_requests
from spec.kraft.models.replication import MEMBERSHIP
from spec.kraft.models.sizes import one_controller

AT_WILL = (
    at_will.register_at_will,
    at_will.apply_at_will,
    at_will.heartbeat_at_will,
    at_will.alter_isr_at_will,
    controller.handle_registration,
    controller.handle_heartbeat,
    controller.handle_alter_isr,
    controller.expire_lease,
    controller.fence_expired,
    controller.fence_two_expired,
    faults.fail_over,
)

KEPT = (
    properties.leader_election.leaderless_only_without_candidates,
    properties.leader_election.leader_changes_in_replica_order,
    properties.leader_election.epochs_never_go_back,
    properties.isr.isr_is_never_empty,
    properties.leader_election.leaderless_partition,
    properties.isr.fenced_last_isr_member,
)
NOT_MODELLED = (
    "what brokers do with replies, and which requests they send by and by; data, reassignment, unregistering, topics, "
    "more than one partition and one controller; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)

OPEN = Model(
    name="open",
    doc="Two brokers that ask the controller for anything at any time, but for shutdowns; one failover.",
    init=late_requests,
    actions=AT_WILL,
    properties=(*KEPT, properties.leader_election.leader_may_lead, properties.isr.fenced_broker_is_out_of_isr),
    constants={"lifecycle_in_flight": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="any number of crashes, second processes, lapsed leases and lost messages; one failover",
    not_modelled="controlled shutdown; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

OPEN_SHUTDOWN = Model(
    name="open_shutdown",
    doc="Two brokers that ask the controller for anything at any time, shutdowns among it; one failover.",
    init=late_requests,
    actions=AT_WILL,
    properties=KEPT,
    constants={"lifecycle_in_flight": 2, "max_failovers": 1, "max_shutdowns": 1},
    settings=SETTINGS,
    faults="any number of crashes, second processes, lapsed leases, shutdowns, also ones that are thought better of, "
    "and lost messages; one failover",
    not_modelled=NOT_MODELLED,
    assumptions=(one_controller,),
)

MODELS = [OPEN, OPEN_SHUTDOWN]

INCLUSIONS = [
    Inclusion(
        name="membership_at_will",
        doc="What the controller comes to by the requests of two brokers it comes to by some that are sent at will.",
        model=MEMBERSHIP,
        within=OPEN,
        seen=at_will.decided,
        seen_within=at_will.decided,
        source="KIP-631, Broker Leases; KIP-497",
    ),
]
