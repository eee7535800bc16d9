"""The design switches of heartbeats: each on in the repaired design; the document and Kafka 3.9 have some of them.

A switch that is on has its guard in force; off removes that guard and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Design:
    """The switches, as the repaired design has them."""

    heartbeats: bool = True
    "Brokers heartbeat to the controller, and fence themselves. Else a broker is alive while its znode is."
    broker_fences_first: bool = True
    "The broker's timeout ends before the controller's lease does. The document has it the other way round."
    lease_from_sending: bool = True
    "The broker's timeout runs from the sending of the heartbeat that was answered. Else from its answer."
    fresh_unfence: bool = True
    "The controller answers ACTIVE once all control requests that it owes this incarnation are acknowledged."
    grant_is_acknowledged: bool = True
    "And an active broker, too, is answered once it has acknowledged them: it may have a lease only since a term began."
    handover_acknowledged: bool = True
    "A leadership is taken from a broker that is stopping, and given to another once that is acknowledged."
    acknowledges_unfenced: bool = True
    "A fenced leader acknowledges nothing. Else requests in hand are completed as ever."
    reply_names_incarnation: bool = True
    "A broker takes no reply that was meant for another incarnation."
    checks_registration: bool = True
    "A heartbeat counts only if a fresh read of ZooKeeper has its incarnation."
    czxid_with_create: bool = True
    "The incarnation comes with the reply to the create. Else it is read afterwards."
    reregistration_fences: bool = True
    "A process that registers anew is fenced until it is told that it is active."
    supersedes_after_lease: bool = True
    "A higher incarnation waits until the lease of the lower one is over."
    bounce_fences: bool = True
    "A higher incarnation is a failure of the lower one, then a startup (KIP-380)."
    leader_incarnation: bool = True
    "The state of a partition names the incarnation of its leader; a controller that takes office goes by it."
    follower_incarnations: bool = True
    "It names those of the other members of the ISR, too: one that bounces leaves the ISR, though a failover hides it."
    partition_version: bool = True
    "An ISR change names the version of the state that it changes (KIP-497)."
    active_members: bool = True
    "Who joins an ISR is active (KIP-841)."
    member_incarnations: bool = True
    "And it is the incarnation that the leader has seen (KIP-903)."
    fetch_names_incarnation: bool = True
    "A leader takes no fetch of a lower incarnation than it has seen."
    fetches_unfenced: bool = True
    "A fenced follower does not fetch: its leader is not to want it in the ISR."
    refusal_raises_version: bool = True
    "An ISR change that is refused for its members raises the version: a late copy of it is not granted."
    controller_epoch_in_heartbeat: bool = True
    "Heartbeats and their replies name the controller's epoch; who is not in office answers NOT_CONTROLLER."
    zk_writes_fenced: bool = True
    "A controller's writes check the version of the epoch (Kafka 2.1)."
    lease_begins_anew: bool = True
    "A controller that takes office grants each registered broker one lease. Else all are inactive."
    exit_signal: bool = True
    "A stopping broker that leads nothing is answered INACTIVE, and exits."
    handles_any_ibp: bool = True
    "A controller handles heartbeats whatever its own protocol version is."
    rereads_on_bad_version: bool = True
    "A conditional write that fails reads the state again, and is repeated."


REPAIRED = Design()


def _only(*switches: str) -> Design:
    return Design(**{one.name: one.name in switches for one in fields(Design)})


DRAFT = _only("heartbeats", "handles_any_ibp", "rereads_on_bad_version")
"""The document as written."""
SHIPPED = _only(
    "czxid_with_create",
    "bounce_fences",
    "partition_version",
    "active_members",
    "zk_writes_fenced",
    "lease_begins_anew",
    "exit_signal",
    "handles_any_ibp",
    "rereads_on_bad_version",
)
"""Kafka 3.9 in ZooKeeper mode, which has no heartbeats."""
SETTINGS = {"draft": DRAFT, "shipped": SHIPPED, "repaired": REPAIRED}
