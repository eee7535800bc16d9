"""Sizes, fault budgets and design switches of the KIP-343 spec, what is assumed of them, and the settings with a name.

A switch that is True has its guard in force; False removes that guard and nothing else. Budgets bound perturbations
only (silences, crashes, lost disks, expiries of live sessions, second processes, failovers, late copies, SIGTERMs,
lost replies of ZooKeeper): expiry of the silent, the end of a dead process's session, retries, restarts and healing are
never bounded.
"""

from __future__ import annotations

from checker.lang import assume, constants


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, two brokers and no faults."""

    brokers: int = 2
    "Brokers, which are the replicas of the one partition. Broker 0 leads it at the start."
    spare_processes: int = 0
    "Processes beyond one for each broker: a second process that is configured with the id of broker 0."
    controllers: int = 1
    "Processes that may be the controller. With one, a failover puts another in its place in one step."
    legacy_brokers: int = 0
    "The first so many brokers run Kafka 2.0: BrokerInfo 4, no heartbeats, and ISR changes straight to ZooKeeper."
    rolls: int = 0
    "With 2, every process is upgraded by two rolling restarts: new code first, then the protocol version."
    records: int = 1
    "With 1, one record is produced."
    views: int = 0
    "With 1, a controller reads /brokers/ids from a follower of ZooKeeper, which may lag behind the brokers' messages."
    min_insync_replicas: int = 1
    "Members of the ISR that a record needs to be acknowledged."
    late_fetches: int = 0
    "Fetches that may be under way at a time while their senders go on: one arrives when its sender is fenced, or dead."

    max_silences: int = 0
    "Budget of processes cut off from the controller, and not from ZooKeeper or their peers."
    max_crashes: int = 0
    "Budget of crashes."
    max_disk_losses: int = 0
    "Budget of crashes that lose the disk, too."
    max_expiries: int = 0
    "Budget of broker sessions that end under a live process."
    max_failovers: int = 0
    "Budget of failovers of the controller; with two of them, of its sessions that end under it."
    max_late_copies: int = 0
    "Budget of copies of an IsrChange that arrive late."
    max_shutdowns: int = 0
    "Budget of controlled shutdowns (SIGTERM)."
    max_lost_replies: int = 0
    "Budget of writes to ZooKeeper that happen and whose reply is lost."

    heartbeats: bool = True
    "Brokers send heartbeats, and fence themselves without an answer. Off: a broker is alive while its znode is."
    broker_fences_first: bool = True
    "The broker's timeout is the shorter one. Off: the longer one, as in the document."
    lease_from_sending: bool = True
    "The broker counts its lease from sending the heartbeat that was answered. Off: from the reply."
    fresh_unfence: bool = True
    """The controller answers ACTIVE once all control requests that it owes to that incarnation are acknowledged. Off:
    at once, and the broker is unfenced with the leadership that it had before."""
    grant_is_acknowledged: bool = True
    """An active broker, too, is answered once it has acknowledged all control requests: a new controller grants leases
    to brokers that its predecessor had declared inactive. Off: it is answered at once."""
    acknowledges_unfenced: bool = True
    """A process that is fenced acknowledges nothing: requests in hand are completed with an error. Off: they are
    completed as ever, as in the document."""
    reply_names_incarnation: bool = True
    "A reply says which incarnation it is for, and another one ignores it."
    checks_registration: bool = True
    "A heartbeat counts only if a fresh read of ZooKeeper has that incarnation."
    czxid_with_create: bool = True
    "A broker takes its incarnation from the reply of its own create. Off: it reads the znode afterwards."
    registration_retried: bool = True
    """KAFKA-1387, KAFKA-7165: a process whose create is refused, since the znode of its former session is there,
    tries again. Off: it takes that znode for its own."""
    reregistration_fences: bool = True
    "A process whose session has ended, and which registers again, fences itself."
    supersedes_after_lease: bool = True
    """A controller waits out the lease of the incarnation that it goes by before it goes by a higher one, and where its
    znode is gone. Off: at once."""
    bounce_fences: bool = True
    "KIP-380: to a controller, a higher incarnation is a failure of the lower one, then a startup."
    leader_incarnation: bool = True
    "The partition state names the leader's incarnation, and a new controller goes by it."
    follower_incarnations: bool = True
    "It names those of the other members of the ISR, too: one that bounces leaves the ISR, though a failover hides it."
    partition_version: bool = True
    "KIP-497: an IsrChange carries the version of the partition state that the leader knows."
    active_members: bool = True
    "KIP-841: the ISR gains no inactive member."
    member_incarnations: bool = True
    "KIP-903: an IsrChange names the incarnation of who is added."
    fetch_names_incarnation: bool = True
    "KIP-903: a fetch names the follower's incarnation, and a lower one than the leader has seen is refused."
    fetches_unfenced: bool = True
    "A process that is fenced does not fetch. Off: it does, and a legacy leader may take it into the ISR."
    refusal_raises_version: bool = True
    "A refusal raises the version of the partition state, so that no other copy of the request is granted."
    controller_epoch_in_heartbeat: bool = True
    "Heartbeats and their replies carry the controller epoch: a former controller, or its reply, does not count."
    zk_writes_fenced: bool = True
    "KAFKA-6082: a controller's writes to ZooKeeper check the version of the controller epoch."
    lease_begins_anew: bool = True
    "A new controller grants each registered broker one lease. Off: all are inactive until they are heard of."
    exit_signal: bool = True
    "A broker that is stopping and leads nothing is answered INACTIVE, its leave to exit. Off: it never is."
    handover_acknowledged: bool = True
    """A leadership is taken from a broker that is stopping first, and given to another once every broker that is in has
    acknowledged that. Off: both in one write, and the new leader may hear of it before the old one."""
    handles_any_ibp: bool = True
    "A controller handles heartbeats whatever its own protocol version. Off: handling is gated as sending is."
    rereads_on_bad_version: bool = True
    "KAFKA-2729, KAFKA-1382: whose conditional write fails reads the partition state again. Off: it only tries again."


@assume
def there_are_two_or_three_brokers() -> bool:
    """there are two or three brokers, at most one second process, and one or two controllers."""
    return 2 <= Design.brokers <= 3 and 0 <= Design.spare_processes <= 1 and 1 <= Design.controllers <= 2


@assume
def some_brokers_are_legacy() -> bool:
    """legacy brokers are some of the brokers; of a cluster that is upgraded, all."""
    return Design.legacy_brokers == Design.brokers if Design.rolls > 0 else 0 <= Design.legacy_brokers < Design.brokers


@assume
def parts_are_there_or_not() -> bool:
    """records and views are modelled, 1, or not, 0; a cluster is upgraded in two rolls, or not at all."""
    return Design.records in (0, 1) and Design.views in (0, 1) and Design.rolls in (0, 2)


@assume
def records_need_some_replicas() -> bool:
    """a record needs as many in-sync replicas as there are, at most."""
    return 1 <= Design.min_insync_replicas <= Design.brokers


@assume
def budgets_are_counts() -> bool:
    """a budget is 0 or more, and so is what may be under way."""
    return all(
        budget >= 0
        for budget in (
            Design.late_fetches,
            Design.max_silences,
            Design.max_crashes,
            Design.max_disk_losses,
            Design.max_expiries,
            Design.max_failovers,
            Design.max_late_copies,
            Design.max_shutdowns,
            Design.max_lost_replies,
        )
    )


REPAIRED: dict[str, bool | int] = {}
"""Every guard in force."""

GUARDS = (
    "broker_fences_first",
    "lease_from_sending",
    "fresh_unfence",
    "grant_is_acknowledged",
    "acknowledges_unfenced",
    "reply_names_incarnation",
    "checks_registration",
    "czxid_with_create",
    "reregistration_fences",
    "supersedes_after_lease",
    "bounce_fences",
    "leader_incarnation",
    "follower_incarnations",
    "partition_version",
    "active_members",
    "member_incarnations",
    "fetch_names_incarnation",
    "fetches_unfenced",
    "refusal_raises_version",
    "controller_epoch_in_heartbeat",
    "zk_writes_fenced",
    "lease_begins_anew",
    "exit_signal",
    "handover_acknowledged",
)

DRAFT: dict[str, bool | int] = dict.fromkeys(GUARDS, False)
"""The document as written."""

KAFKA_3_9 = {
    "czxid_with_create",
    "bounce_fences",
    "partition_version",
    "active_members",
    "zk_writes_fenced",
    "lease_begins_anew",
    "exit_signal",
}

SHIPPED: dict[str, bool | int] = {"heartbeats": False, **{name: name in KAFKA_3_9 for name in GUARDS}}
"""Apache Kafka 3.9 in ZooKeeper mode: no heartbeats, a broker is alive while its znode is."""

SETTINGS: dict[str, dict[str, bool | int]] = {"repaired": REPAIRED, "draft": DRAFT, "shipped": SHIPPED}
