"""Sizes, fault budgets and design switches of the KIP-631 spec, and the settings that have a name.

A switch that is True has its guard in force; False removes that guard and nothing else. Budgets bound
perturbations only (crashes, early lease expiries, duplicates): restarts, retries, heartbeats, fetches,
fencing, the loss of messages and the expiry of a silent broker's lease are never bounded.
Leaves out: budgets of what the slice does not have (failovers, topic changes, reassignments).
"""

from __future__ import annotations

from checker.lang import constants


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, two brokers and no faults."""

    controllers: int = 1
    "Voters of the metadata quorum. With 1, what is decided is committed at once."
    brokers: int = 2
    "Broker ids."
    partitions: int = 1
    "Partitions of the topic, each with every broker as a replica: 1 or 2."
    second_processes: int = 0
    "How many processes beyond one an id there are: with 1, a second process is configured as broker 0."
    min_insync_replicas: int = 1
    "min.insync.replicas: members that the ISR must have for a record to be written and acknowledged (acks=all)."
    lifecycle_in_flight: int = 1
    "Registrations and heartbeats under way at once in the whole cluster, copies not counted."
    alter_in_flight: int = 1
    "AlterIsr requests under way at once in the whole cluster, copies not counted."

    max_crashes: int = 0
    "Budget of crashes, those that lose the disk among them."
    max_disk_losses: int = 0
    "Budget of crashes that lose the disk."
    max_early_expiries: int = 0
    "Budget of leases that run out although the broker is alive and sending (a pause, a slow network)."
    max_duplicates: int = 0
    "Budget of requests of which a second copy lands later."
    max_second_starts: int = 0
    "Budget of starts of a process while another of its id is alive."

    last_member_stays: bool = True
    "Fencing leaves the last member of an ISR in it. The draft has fenced brokers 'removed from all ISRs'."
    kip_841: bool = True
    "KIP-841 (KAFKA-13916): the controller refuses an ISR that has a fenced member."
    kip_903: bool = True
    "KIP-903 (KAFKA-14617): the controller refuses to add a replica that is not at the broker epoch the leader saw."
    kafka_13173: bool = True
    "KAFKA-13173: where one decision fences two brokers, the second is fenced from the state that the first left."
    kafka_16952: bool = True
    "KAFKA-16952: a registration repeated by the incarnation that holds the id changes nothing: no new epoch."
    lapsed_session: bool = True
    """A new incarnation that registers over a session that lapsed but was not yet fenced first takes the old one
    out of its leaderships and ISRs (akin to KAFKA-18106)."""
    superseded_stops: bool = True
    "A process that sees its id registered at another broker epoch no longer acts as a replica."
    refusal_raises_epoch: bool = True
    """Refusing a change with INELIGIBLE_REPLICA raises the partition epoch, so that no other copy of the request can
    commit once its leader has forgotten it."""


REPAIRED: dict[str, bool] = {}
"""Every guard in force."""

SHIPPED = {"lapsed_session": False, "superseded_stops": False, "refusal_raises_epoch": False}
"""Apache Kafka of late 2024: KIP-841, KIP-903, KAFKA-13173 and KAFKA-16952 are in, these three are not."""

DRAFT = {**SHIPPED, "last_member_stays": False, "kip_841": False, "kip_903": False}
"""The document as written. Its text asks for what KAFKA-16952 restored ("the same successful result as before"), and
KAFKA-13173 was a bug of the code; so these two stay on."""

SETTINGS = {"repaired": REPAIRED, "shipped": SHIPPED, "draft": DRAFT}
