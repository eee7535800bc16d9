"""Faults of impl/kraft, and for each a small model in which conformance finds it. More of them are in `faults.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

MODELS: dict[str, tuple[str, dict[str, object], int | None]] = {
    "late": ("late", {"max_crashes": 1, "max_duplicates": 0, "lifecycle_in_flight": 1}, None),
    "membership": ("membership", {"max_crashes": 0, "lifecycle_in_flight": 1}, None),
    "superseded": ("twins_spurious", {"max_crashes": 0}, None),
    "unregistered": ("unregistered", {"max_crashes": 0, "lifecycle_in_flight": 1, "alter_in_flight": 1}, None),
    "shutdown": ("shutdown", {"max_crashes": 0, "max_early_expiries": 0, "max_failovers": 0}, None),
    "shutdown with a crash": ("shutdown", {"max_early_expiries": 0, "max_failovers": 0}, 8),
    "failover": ("shutdown", {"max_crashes": 0, "max_early_expiries": 0}, None),
    "one broker": ("unfencing_ends", {"brokers": 1}, None),
    "three with a crash": ("isr", {}, 4),
    "three brokers": ("reassignment", {"max_reassignments": 1, "max_early_expiries": 0}, 4),
    "reassignment": ("reassignment", {"max_reassignments": 1, "max_early_expiries": 0}, None),
    "three replicas": ("reassignment", {"max_reassignments": 1, "spare_brokers": 0}, 6),
    "two reassignments": ("reassignment", {}, 6),
    "topics": ("topics", {"alter_in_flight": 1, "max_topics": 1, "max_reassignments": 0, "partitions": 1}, None),
    "recreated": ("recreated", {"max_crashes": 0}, None),
    "zombie": ("zombie", {"max_crashes": 0, "max_disk_losses": 0, "max_early_expiries": 1}, None),
    "two in sync": ("zombie", {"max_crashes": 0, "max_early_expiries": 1, "min_insync_replicas": 2}, None),
    "lossy": ("lossy", {"max_crashes": 1, "max_duplicates": 0}, 12),
    "election": ("election", {"max_failovers": 2}, None),
    "quorum": ("quorum", {"max_crashes": 0, "max_failovers": 1, "pending_batches": 2}, None),
    "steady quorum": ("quorum", {"max_failovers": 0}, None),
    "two leaderships": ("refusal", {"max_failovers": 1}, None),
    "snapshot": ("snapshot", {"lifecycle_in_flight": 1, "max_crashes": 0}, None),
    "listing": ("failover_reassignment", {"max_failovers": 0, "pending_batches": 1}, None),
}
"""By name: a model of the spec, what is set in it, and how many levels of it are enough."""


@dataclass(frozen=True)
class Fault:
    """A fault in `function`, named with its module where its name alone is ambiguous, and where it is found.

    `new` stands for the fragment `old`, which without it is left out: see tests.fragments.
    """

    model: str
    what: str
    function: str
    old: str
    new: str = ""

    def __str__(self) -> str:
        return self.what


FAULTS = [
    # Replies.
    Fault("late", "a reply leaves before what it rests on is committed", "Controller.handle", "self._pending", "False"),
    # Several controllers.
    Fault(
        "two leaderships",
        "an error leaves before what it rests on is committed",
        "Controller.handle",
        "self._pending",
        "self._pending and decision.response.error == ErrorCode.NONE",
    ),
    Fault(
        "quorum",
        "what writes nothing is answered before what it rests on is committed",
        "Controller.handle",
        "self._pending",
        "decision.records",
    ),
    Fault(
        "steady quorum",
        "a reply leaves one record early",
        "Controller.on_commit",
        "self.waiting[0].offset < offset",
        "self.waiting[0].offset <= offset",
    ),
    Fault(
        "steady quorum",
        "replies of an active controller never leave",
        "Controller.on_commit",
        "replies.append(Reply(waiting.call, waiting.response))",
    ),
    Fault(
        "election",
        "what is committed is not taken over",
        "Controller.on_commit",
        "self.committed.replay(self._pending.popleft())",
        "self._pending.popleft()",
    ),
    Fault(
        "election", "what is decided counts as committed", "Controller.claim", "self.committed.copy()", "self.committed"
    ),
    Fault("quorum", "a controller that renounces leaves its callers waiting", "Controller.renounce", "refused", "[]"),
    Fault(
        "two leaderships",
        "a controller that renounces remembers its batches",
        "Controller.renounce",
        "self._pending.clear()",
    ),
    Fault(
        "two leaderships",
        "a controller that renounces remembers who waits",
        "Controller.renounce",
        "self.waiting.clear()",
    ),
    Fault("election", "a deposed controller goes on to decide", "Controller.renounce", "self.epoch = None"),
    Fault(
        "election",
        "a new controller finds no broker silent",
        "Controller.claim",
        "effects.append(SetTimer(lease_timer(broker_id), self.sessions.end_ms(broker_id)))",
    ),
    Fault(
        "election",
        "leases go on from an earlier time of office",
        "Controller.claim",
        "self.sessions.start(broker_id, now_ms)",
        "self.sessions.start(broker_id, 0)",
    ),
    Fault(
        "election",
        "a new controller writes though its epoch has begun",
        "Controller.claim",
        "(NoOpRecord(),) if self.committed.epoch < epoch else ()",
        "NoOpRecord(),",
    ),
    Fault(
        "election",
        "a batch carries an older epoch",
        "Controller._append",
        "Batch(self.speculative.offset + 1, self.epoch, records)",
        "Batch(self.speculative.offset + 1, self.epoch - 1, records)",
    ),
    Fault("two leaderships", "a standby decides", "Controller.handle", "not self.is_active", "False"),
    Fault(
        "listing", "a listing shows what is not committed", "Controller.handle", "self.committed", "self.speculative"
    ),
    # Snapshots.
    Fault(
        "snapshot",
        "a snapshot is of what is not committed",
        "Controller.snapshot",
        "self.committed",
        "self.speculative",
    ),
    Fault("snapshot", "a snapshot fences brokers", "registrations", "fenced=registration.fenced"),
    Fault("snapshot", "a snapshot restarts the epochs of partitions", "topics", "partition.partition_epoch", "0"),
    Fault("snapshot", "a snapshot leaves out who leads", "topics", "partition.leader", "-1"),
    Fault(
        "snapshot",
        "a snapshot is loaded as if it reached further",
        "load_snapshot",
        "snapshot.offset, snapshot.epoch",
        "snapshot.offset + 1, snapshot.epoch",
    ),
    # Registration.
    Fault(
        "late",
        "any incarnation of the id gets the epoch that is held",
        "register",
        "holder.incarnation_id == request.incarnation_id",
        "holder.broker_id == request.broker_id",
    ),
    Fault(
        "late",
        "a registration that is repeated gets a new epoch (KAFKA-16952)",
        "register",
        "holder is not None and holder.incarnation_id == request.incarnation_id",
        "False",
    ),
    Fault(
        "late",
        "a registration that is repeated renews no lease",
        "register",
        "sessions.renew(request.broker_id, now_ms)",
    ),
    Fault("late", "a fenced holder blocks its id", "register", "not holder.fenced"),
    Fault("late", "a lease that ran out blocks the id", "register", "sessions.is_valid(request.broker_id, now_ms)"),
    Fault(
        "late",
        "a running broker's id is given away",
        "register",
        "holder is not None and not holder.fenced and sessions.is_valid(request.broker_id, now_ms)",
        "False",
    ),
    Fault(
        "late",
        "the old incarnation keeps its leaderships (KAFKA-18106)",
        "register",
        "record, *taken_out(image, settings, request.broker_id)",
        "record,",
    ),
    Fault(
        "late",
        "a registered broker is unfenced at once",
        "register",
        "rack=request.rack",
        "rack=request.rack\nfenced=False",
    ),
    Fault(
        "late",
        "a new incarnation keeps the broker epoch of the one before",
        "register",
        "image.offset + 1",
        "holder.broker_epoch if holder else image.offset + 1",
    ),
    Fault(
        "late",
        "the epoch that is told is not the one that is written",
        "register",
        "BrokerRegistrationResponse(ErrorCode.NONE, broker_epoch)",
        "BrokerRegistrationResponse(ErrorCode.NONE, broker_epoch + 1)",
    ),
    Fault(
        "late",
        "another error code for an id that is taken",
        "register",
        "ErrorCode.DUPLICATE_BROKER_REGISTRATION",
        "ErrorCode.INVALID_REQUEST",
    ),
    Fault(
        "unregistered",
        "an unregistered broker stays in its ISRs",
        "unregister",
        "*taken_out(image, settings, request.broker_id), record",
        "record,",
    ),
    Fault("late", "a broker is fenced and stays in its ISRs", "fenced", "taken_out(image, settings, broker_id)", "()"),
    Fault(
        "late",
        "a broker is fenced and it is not written",
        "fenced",
        "FenceBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch)",
        "*()",
    ),
    # Heartbeats and shutdown.
    Fault(
        "late",
        "a heartbeat of an older incarnation counts",
        "heartbeat",
        "registration.broker_epoch != request.broker_epoch",
        "registration.broker_epoch < request.broker_epoch",
    ),
    Fault(
        "late",
        "a heartbeat of a newer epoch counts",
        "heartbeat",
        "registration.broker_epoch != request.broker_epoch",
        "registration.broker_epoch > request.broker_epoch",
    ),
    Fault(
        "late",
        "another error code for a stale heartbeat",
        "heartbeat",
        "ErrorCode.STALE_BROKER_EPOCH",
        "ErrorCode.BROKER_ID_NOT_REGISTERED",
    ),
    Fault("late", "the wish for the fence is not heard", "calculate_next_state", "request.want_fence"),
    Fault(
        "late",
        "a broker is unfenced that has not caught up",
        "calculate_next_state",
        "is_caught_up(registration, request)",
    ),
    Fault(
        "membership",
        "a broker is caught up one record too late",
        "is_caught_up",
        "request.current_metadata_offset >= registration.broker_epoch",
        "request.current_metadata_offset > registration.broker_epoch",
    ),
    Fault(
        "shutdown",
        "a broker is unfenced that was told to shut down",
        "calculate_next_state",
        "not registration.in_controlled_shutdown",
    ),
    Fault(
        "unregistered", "an unfenced broker with an old image is fenced", "calculate_next_state", "registration.fenced"
    ),
    Fault(
        "shutdown",
        "the shutdown's offset moves with each heartbeat (KAFKA-14292)",
        "heartbeat",
        "shutdown_offset is None",
    ),
    Fault(
        "shutdown",
        "a shutdown waits for nobody",
        "calculate_next_state",
        "sessions.all_reach(shutdown_offset, others)",
        "True",
    ),
    Fault(
        "shutdown",
        "a shutdown waits for fenced brokers, too",
        "calculate_next_state",
        "(broker_id for broker_id, other in image.registrations.items() if other.is_active)",
        "(broker_id for broker_id, other in image.registrations.items())",
    ),
    Fault(
        "shutdown",
        "a broker that shuts down keeps its leaderships",
        "records_of",
        "*taken_out(image, settings, broker_id), begins",
        "begins,",
    ),
    Fault(
        "shutdown",
        "the shutdown's offset is the one before its records",
        "heartbeat",
        "image.offset + len(records)",
        "image.offset",
    ),
    Fault(
        "shutdown",
        "a broker that was told to shut down stays unfenced",
        "is_fenced_by",
        "next_state is not BrokerControlState.UNFENCED",
        "next_state is BrokerControlState.FENCED",
    ),
    Fault(
        "membership",
        "unfencing elects no leader",
        "records_of",
        "UnfenceBrokerRecord(broker_id, broker_epoch), *led_anew(image, settings, broker_id)",
        "UnfenceBrokerRecord(broker_id, broker_epoch),",
    ),
    Fault(
        "late",
        "a heartbeat does not renew the lease",
        "heartbeat",
        "now_ms",
        "sessions.of_broker[request.broker_id].contact_ms if request.broker_id in sessions.of_broker else now_ms",
    ),
    Fault(
        "shutdown", "what a heartbeat reports is not remembered", "heartbeat", "request.current_metadata_offset", "-1"
    ),
    # Leases.
    Fault(
        "late",
        "a lease is renewed by looking at it",
        "Controller._check_lease",
        "if registration is None or registration.fenced:\n    return []",
        "if registration is None or registration.fenced:\n    return []\nself.sessions.renew(broker_id, now_ms)",
    ),
    Fault(
        "late",
        "a lease that runs is not looked after again",
        "Controller._check_lease",
        "[SetTimer(lease_timer(broker_id), self.sessions.end_ms(broker_id))]",
        "[]",
    ),
    Fault(
        "membership",
        "a broker that is unfenced has no lease timer",
        "Controller._append",
        "isinstance(record, UnfenceBrokerRecord)",
        "False",
    ),
    Fault(
        "late",
        "a new controller looks after no leases",
        "Controller.claim",
        "effects.append(SetTimer(lease_timer(broker_id), self.sessions.end_ms(broker_id)))",
    ),
    Fault(
        "failover",
        "leases do not restart with a new controller",
        "Controller.claim",
        "self.sessions.start(broker_id, now_ms)",
        "self.sessions.start(broker_id, now_ms - 9000)",
    ),
    Fault(
        "late",
        "leases last one timer longer",
        "Sessions.is_valid",
        "now_ms < self.end_ms(broker_id)",
        "now_ms <= self.end_ms(broker_id)",
    ),
    # AlterPartition.
    Fault(
        "late",
        "a refused change does not raise the partition epoch",
        "alter_partition",
        "Decision(AlterPartitionResponse(error), (raised_epoch(key),))",
        "Decision(AlterPartitionResponse(error))",
    ),
    Fault(
        "late",
        "a change to what there is raises the partition epoch",
        "altered",
        "Decision(response, records)",
        "Decision(response, records or (raised_epoch(key),))",
    ),
    Fault(
        "late",
        "AlterPartition of an older incarnation counts",
        "isr.error_of",
        "registration.broker_epoch != request.broker_epoch",
    ),
    Fault(
        "late",
        "a leader of an older epoch changes the ISR",
        "isr.error_of",
        "request.leader_epoch < partition.leader_epoch",
        "False",
    ),
    Fault("late", "who does not lead changes the ISR", "isr.error_of", "request.broker_id != partition.leader"),
    Fault("late", "a leader leaves its own ISR", "isr.error_of", "request.broker_id not in isr"),
    Fault(
        "late",
        "a stale partition epoch is accepted",
        "isr.error_of",
        "request.partition_epoch < partition.partition_epoch",
        "False",
    ),
    Fault(
        "late", "who is ahead is told otherwise", "isr.error_of", "request.partition_epoch > partition.partition_epoch"
    ),
    Fault(
        "late",
        "fenced brokers join an ISR (KIP-841)",
        "is_eligible",
        "not image.is_active(member.broker_id)",
        "member.broker_id not in image.registrations",
    ),
    Fault(
        "shutdown",
        "brokers in controlled shutdown join an ISR",
        "is_eligible",
        "not image.is_active(member.broker_id)",
        "member.broker_id not in image.registrations or image.registrations[member.broker_id].fenced",
    ),
    Fault(
        "late",
        "the broker epoch of a member is not looked at (KIP-903)",
        "is_eligible",
        "member.broker_epoch == image.registrations[member.broker_id].broker_epoch",
        "True",
    ),
    Fault(
        "reassignment", "brokers join that are not replicas", "isr.error_of", "not set(isr) <= set(partition.replicas)"
    ),
    Fault(
        "late",
        "the leader epoch is checked after the partition epoch",
        "isr.error_of",
        "if request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch:\n"
        "    return ErrorCode.NOT_CONTROLLER",
        "if request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch:\n"
        "    return ErrorCode.NOT_CONTROLLER\n"
        "if request.partition_epoch < partition.partition_epoch:\n"
        "    return ErrorCode.INVALID_UPDATE_VERSION",
    ),
    Fault(
        "reassignment",
        "a leader that loses the lead is told that all is well",
        "altered",
        "after.leader != partition.leader",
        "False",
    ),
    # Partitions.
    Fault(
        "late",
        "whoever leads goes on to lead",
        "elect",
        "partition.leader in partition.isr and may_lead(partition.leader)",
        "partition.leader != NO_LEADER",
    ),
    Fault(
        "three replicas", "a leader is elected in no order", "elect", "partition.replicas", "partition.replicas[::-1]"
    ),
    Fault("late", "replicas outside the ISR are elected", "elect", "replica in partition.isr"),
    Fault("late", "fenced brokers are elected", "elect", "may_lead(replica)"),
    Fault("late", "the last member leaves the ISR", "taken_out", "rest or partition.isr", "rest"),
    Fault("late", "a broker that is taken out may be elected", "taken_out", "candidate != broker_id"),
    Fault("membership", "who is unfenced may not lead yet", "led_anew", "candidate == broker_id"),
    Fault(
        "reassignment",
        "the lead is kept by a replica that goes",
        "Partition.changed",
        "not set(self.replicas) <= set(replicas)",
    ),
    Fault(
        "late",
        "a new leader does not raise the leader epoch",
        "Partition.changed",
        "self.leader_epoch + 1 if leads_anew else self.leader_epoch",
        "self.leader_epoch",
    ),
    Fault(
        "late",
        "a change does not raise the partition epoch",
        "Partition.changed",
        "self.partition_epoch + 1",
        "self.partition_epoch",
    ),
    Fault(
        "reassignment",
        "a reassignment is complete without those it adds (KAFKA-15665)",
        "completed",
        "not awaited <= set(isr)",
    ),
    Fault(
        "reassignment",
        "a reassignment waits for all its targets (KAFKA-19975)",
        "completed",
        "set(target) if shrinks else set(target) - set(original)",
        "set(target)",
    ),
    Fault(
        "three replicas",
        "a smaller target does not wait for its replicas",
        "completed",
        "set(target) if shrinks else set(target) - set(original)",
        "set(target) - set(original)",
    ),
    Fault(
        "two reassignments",
        "the second reassignment forgets what the first was adding",
        "reassigned",
        "original",
        "partition.replicas",
    ),
    Fault(
        "reassignment",
        "the preferred leader need not be in the ISR",
        "elect_preferred",
        "preferred not in partition.isr",
    ),
    Fault("reassignment", "nobody is ever preferred", "elect_preferred", "partition.leader == preferred", "True"),
    Fault(
        "topics",
        "fenced brokers are in the ISR of a new partition",
        "new_partition",
        "tuple(replica for replica in replicas if image.is_active(replica))",
        "replicas",
    ),
    Fault("topics", "a topic is created that there is", "topics.error_of", "request.name in image.topic_ids", "False"),
    # The broker.
    Fault("late", "a process runs although it is fenced", "Lifecycle.on_response", "not response.is_fenced", "True"),
    Fault(
        "shutdown",
        "a process shuts down before it is told to",
        "Lifecycle.on_response",
        "response.should_shut_down",
        "True",
    ),
    Fault(
        "superseded",
        "a superseded process goes on",
        "Broker.publish",
        "registration.broker_epoch != self.broker_epoch",
        "self.broker_epoch is None",
    ),
    Fault(
        "late",
        "a lost request is never sent again",
        "Lifecycle.on_response",
        "[due(Due.COMMUNICATION, now_ms + self._backoff_ms())]",
        "[]",
    ),
    Fault(
        "shutdown",
        "a heartbeat does not say that its sender wants to shut down",
        "Lifecycle._wants_shut_down",
        "self.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN",
        "False",
    ),
    Fault(
        "zombie",
        "what a change asked for survives newer metadata",
        "PartitionLeader.update",
        "self.pending_change = None",
    ),
    Fault(
        "late",
        "a leader forgets its change after any error",
        "PartitionLeader.answered",
        "response.error == ErrorCode.INELIGIBLE_REPLICA",
        "response.error != ErrorCode.NONE",
    ),
    Fault(
        "zombie",
        "the high watermark does not wait for who was asked for",
        "PartitionLeader.replicated_offset",
        "self.maximal_isr",
        "self.isr",
    ),
    Fault(
        "lossy",
        "a follower joins that lacks what is committed",
        "PartitionLeader.may_join",
        "max(self.log.high_watermark, self.epoch_start_offset)",
        "self.epoch_start_offset",
    ),
    Fault("late", "fenced followers are asked for", "PartitionLeader.may_join", "not registration.is_active"),
    Fault(
        "late",
        "followers of another incarnation are asked for",
        "PartitionLeader.may_join",
        "registration.broker_epoch != follower.broker_epoch",
    ),
    Fault(
        "zombie",
        "a follower keeps what its leader does not have",
        "PartitionFollower.fetched",
        "log.truncate(min(own.end_offset, response.diverging.end_offset))",
    ),
    Fault(
        "two in sync",
        "records are taken with too few in sync",
        "PartitionLeader.append",
        "len(self.isr) < min_insync_replicas",
        "False",
    ),
    Fault(
        "recreated",
        "the log of a deleted topic stays",
        "Broker._assign",
        "self.leaders, self.followers, self.logs",
        "self.leaders, self.followers",
    ),
]
ROWS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text())
FAULTS += [Fault(*row) for rows in ROWS.values() for row in rows]
SURVIVORS: dict[str, str] = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text())
"""By what is wrong: why conformance alone does not find it."""
