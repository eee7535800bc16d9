"""The controller under the most general clients: brokers that ask for anything at any time. See `actions.at_will`."""

from __future__ import annotations

from checker.lang import Declared, Inclusion, Model
from spec.kraft import properties
from spec.kraft.actions import at_will, controller, faults, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import late_requests, nothing_registered, registered_cluster
from spec.kraft.models.administration import RECREATED, UNREGISTERED
from spec.kraft.models.replication import (
    ISR_MODEL,
    ISR_SPURIOUS,
    LARGE,
    LATE,
    LOSSY,
    MEMBERSHIP,
    TWINS,
    TWINS_SPURIOUS,
    ZOMBIE,
)
from spec.kraft.models.shutdown import ROLLING, SHUTDOWN, SHUTDOWN_LATE, STOPPED_RECORD, UNFENCING_ENDS
from spec.kraft.models.sizes import one_controller

AT_WILL = (
    at_will.register_at_will,
    at_will.heartbeat_at_will,
    at_will.alter_isr_at_will,
    at_will.ask_too_late,
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

ANYTIME = "any number of crashes, second processes, lapsed leases and lost messages"

OPEN = Model(
    name="open",
    doc="Two brokers that ask the controller for anything at any time, but for shutdowns; one failover.",
    init=late_requests,
    actions=AT_WILL,
    properties=(*KEPT, properties.leader_election.leader_may_lead, properties.isr.fenced_broker_is_out_of_isr),
    constants={"lifecycle_in_flight": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults=f"{ANYTIME}; one failover",
    not_modelled="controlled shutdown; " + NOT_MODELLED,
    assumptions=(one_controller,),
)


def without_failovers(name: str, doc: str, happens: str, constants: dict[str, int], *actions: Declared) -> Model:
    """Brokers that ask the controller for anything at any time, but for shutdowns, and what happens besides."""
    return Model(
        name=name,
        doc=doc,
        init=late_requests,
        actions=(*(one for one in AT_WILL if one is not faults.fail_over), *actions),
        properties=OPEN.properties,
        constants={"lifecycle_in_flight": 2, **constants},
        settings=SETTINGS,
        faults=f"{happens}; {ANYTIME}" if happens else ANYTIME,
        not_modelled="controlled shutdown; failovers; " + NOT_MODELLED,
        assumptions=(one_controller,),
    )


OPEN_THREE = without_failovers(
    "open_three",
    "Three brokers that ask the controller for anything at any time, but for shutdowns; no failover.",
    "",
    {"brokers": 3, "min_insync_replicas": 2},
)
OPEN_UNREGISTERED = without_failovers(
    "open_unregistered",
    "Two brokers that ask the controller for anything at any time, but for shutdowns; one is unregistered.",
    "an operator unregisters a broker",
    {"max_unregistrations": 1},
    topics.unregister,
)
OPEN_RECREATED = without_failovers(
    "open_recreated",
    "Two brokers that ask the controller for anything at any time, but for shutdowns; the topic is created again.",
    "the topic deleted and created again",
    {"max_topics": 1},
    topics.create_topic,
    topics.delete_topic,
)
OPEN_GROWING = without_failovers(
    "open_growing",
    "Two brokers that ask the controller for anything at any time, but for shutdowns, while the log grows.",
    "records that change nothing",
    {},
    controller.grow_log,
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

OPEN_ROLLING = Model(
    name="open_rolling",
    doc="Three brokers that ask at any time, and stop only when they are told to; two SIGTERMs, one failover.",
    init=registered_cluster,
    actions=(
        at_will.register_at_will,
        at_will.orderly_heartbeat,
        at_will.alter_isr_at_will,
        at_will.ask_too_late,
        faults.fail_over,
    ),
    properties=KEPT,
    constants={"brokers": 3, "max_failovers": 1, "max_shutdowns": 2},
    settings=SETTINGS,
    faults="any number of processes that start and of lost messages; an operator stops a broker twice; one failover",
    not_modelled="leases that run out; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

MODELS = [OPEN, OPEN_THREE, OPEN_UNREGISTERED, OPEN_RECREATED, OPEN_GROWING, OPEN_SHUTDOWN, OPEN_ROLLING]


def at_will_of(model: Model, within: Model) -> Inclusion:
    return Inclusion(
        name=f"{model.name}_at_will",
        doc=f"What the controller of {model.name} comes to it comes to by requests that are sent at will.",
        model=model,
        within=within,
        seen=at_will.decided,
        seen_within=at_will.decided,
        source="KIP-631, Broker Leases; KIP-497",
        from_any_state=model.init is not nothing_registered,
    )


INCLUSIONS = [
    *(at_will_of(model, OPEN) for model in (MEMBERSHIP, LATE, LOSSY, ZOMBIE, TWINS, TWINS_SPURIOUS)),
    *(at_will_of(model, OPEN_THREE) for model in (ISR_MODEL, ISR_SPURIOUS, LARGE)),
    *(at_will_of(model, OPEN_SHUTDOWN) for model in (SHUTDOWN, SHUTDOWN_LATE, STOPPED_RECORD)),
    at_will_of(ROLLING, OPEN_ROLLING),
    at_will_of(UNREGISTERED, OPEN_UNREGISTERED),
    at_will_of(RECREATED, OPEN_RECREATED),
    at_will_of(UNFENCING_ENDS, OPEN_GROWING),
]
