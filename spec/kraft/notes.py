"""Notes on the steps of a counterexample: the decision with its code, the records, who leads, what becomes of the data.

Batches of the metadata log are numbered from the start of the trace, for the spec keeps no offsets but those that
somebody compares. The one record of a partition is at offset 0; its epoch is that of the leader that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checker.lang import Notes, Set, TakenStep
from spec.kraft.actions.controller import alter_isr_error
from spec.kraft.actions.shutdown import next_broker_state
from spec.kraft.messages import AlterIsr, Heartbeat, Register
from spec.kraft.metadata import Metadata, Partition, Registration
from spec.kraft.processes import Deferral, Leadership, maximal_isr
from spec.kraft.replica_logs import LogReplica, RecordEpochs, ReplicatedLog
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Error, Process, RecordStatus, TopicPartition, Voter, node_id

Taken = TakenStep[Cluster]


def on_cluster(steps: Sequence[Taken]) -> Iterator[str]:
    """Notes on the last of these steps."""
    step = steps[-1]
    yield from sent(step)
    yield from decision(step)
    for voter in Voter:
        yield from appended_to_log(steps, voter)
        yield from shutdowns(step, voter)
    yield from committed_by(steps)
    for process in Process:
        for p in TopicPartition:
            yield from leads_or_not(step, process, p)
            yield from data_of(steps, process, p)


# Requests, and decisions on them.


def sent(step: Taken) -> Iterator[str]:
    """The wishes and the offset in a heartbeat, the change of an ISR that a leader asks for."""
    for beat in step.after.lifecycle:
        if isinstance(beat, Heartbeat) and step.action == "send_heartbeat" and beat not in step.before.lifecycle:
            yield f"broker epoch {beat.broker_epoch}, {image_of(beat)}; wants {wish_of(beat)}"
    for request in step.after.alterations:
        if step.action == "send_alter_isr" and request not in step.before.alterations:
            epochs = f"leader epoch {request.leader_epoch}, partition epoch {request.partition_epoch}"
            yield f"asks {request.to} for the ISR {members(request.isr)} of {request.partition} at {epochs}"


def image_of(beat: Heartbeat) -> str:
    """How far a broker's metadata image reaches, by its heartbeat."""
    if not beat.caught_up:
        return "its image lacks its own registration"
    return "its image has its registration" if beat.applied is None else f"its image is at offset {beat.applied}"


def wish_of(beat: Heartbeat) -> str:
    if beat.want_shut_down:
        return "to shut down"
    return "to stay fenced" if beat.want_fence else "to be unfenced"


def decision(step: Taken) -> Iterator[str]:
    """The decision on a request, by name or by code, and what becomes of the answer."""
    request, voter = step.given.get("request"), step.given.get("voter")
    if not isinstance(request, Register | Heartbeat | AlterIsr) or not isinstance(voter, Voter):
        return
    code, why = (
        on_alter_isr(step, voter, request) if isinstance(request, AlterIsr) else on_session(step, voter, request)
    )
    yield f"decision: {code}" + (f" ({why})" if why else "")
    before, after = answer(step.before, request), answer(step.after, request)
    if after is None or after == before:
        yield "no answer: nobody waits for one, or it would change nothing"
    elif after[1][voter] > 0:
        yield f"the answer waits until {counted(after[1][voter])} of {voter} committed"


def on_alter_isr(step: Taken, voter: Voter, request: AlterIsr) -> tuple[str, str]:
    """(code, reason) of the decision on a change of an ISR."""
    image = step.before.controllers[voter].image
    error = alter_isr_error(image, request)
    partition = image.partitions[request.partition]
    if error == Error.STALE_BROKER_EPOCH:
        return error.value, f"{registered(image, node_id(request.sender))}; the request has {request.broker_epoch}"
    if error == Error.INELIGIBLE_REPLICA:
        seen = "" if request.added_epoch is None else f"; the leader saw the added one at {request.added_epoch}"
        return error.value, "; ".join(registered(image, member) for member in in_order(request.isr)) + seen
    if partition is None or error in (Error.NONE, Error.UNKNOWN_TOPIC_ID):
        return error.value, ""
    now = f"leader epoch {partition.leader_epoch}, partition epoch {partition.partition_epoch}"
    return error.value, f"{now}; the request has {request.leader_epoch}, {request.partition_epoch}"


def on_session(step: Taken, voter: Voter, request: Register | Heartbeat) -> tuple[str, str]:
    """(name or code, reason) of the decision on a registration or heartbeat."""
    before, after = step.before.controllers[voter], step.after.controllers[voter]
    broker = node_id(request.sender)
    registration, now = before.image.registrations[broker], after.image.registrations[broker]
    if isinstance(request, Register):
        accepted = now is not None and now.incarnation == request.incarnation
        code = Error.NONE if accepted else Error.DUPLICATE_BROKER_REGISTRATION
        return code.value, registered(after.image, broker)
    if registration is None or registration.broker_epoch != request.broker_epoch:
        code = Error.STALE_BROKER_EPOCH
        return code.value, f"{registered(before.image, broker)}; the request has {request.broker_epoch}"
    return next_broker_state(before, registration, broker, request).value, f"the lease of {broker} starts again"


def answer(s: Cluster, request: Register | Heartbeat | AlterIsr) -> tuple[object, Deferral] | None:
    """The answer to a request of this kind that its sender is to get, and what it waits for."""
    sender = s.processes[request.sender]
    if not isinstance(request, AlterIsr):
        return None if sender.reply is None else (sender.reply, sender.deferral)
    replica = sender.replicas[request.partition]
    if replica.leadership is None or replica.leadership.reply is None:
        return None
    return replica.leadership.reply, replica.deferral


def registered(image: Metadata, broker: Broker) -> str:
    """The registration of a broker id, and its epoch."""
    registration = image.registrations[broker]
    if registration is None:
        return f"{broker} is not registered"
    state = "fenced" if registration.fenced else "unfenced"
    state += ", in controlled shutdown" if registration.in_controlled_shutdown else ""
    return f"{broker} is {state}, broker epoch {registration.broker_epoch}"


def shutdowns(step: Taken, voter: Voter) -> Iterator[str]:
    """What controlled shutdowns wait for, as a controller remembers it."""
    for broker in Broker:
        was, now = (s.controllers[voter].shutdowns[broker] for s in (step.before, step.after))
        if now is None and was is not None:
            yield f"{voter} remembers no shutdown of {broker} any more"
        elif now is not None and now != was:
            awaited = f"for the images of {members(now.lagging)} to reach offset {now.offset}"
            yield f"the shutdown of {broker} waits {awaited if now.lagging else 'for nobody any more'}"


# The metadata log.


def appended_to_log(steps: Sequence[Taken], voter: Voter) -> Iterator[str]:
    """The records that a controller writes or fetches, and the batches that it cuts off."""
    step = steps[-1]
    before, after = step.before.controllers[voter], step.after.controllers[voter]
    if len(Voter) == 1:
        written = list(records(before.image, after.image))
        if written:
            yield f"batch {batches_before(steps)}: {'; '.join(written)}"
        return
    new = after.log[len(before.log) :] if after.log[: len(before.log)] == before.log else ()
    if new:
        what = "LeaderChangeMessage" if step.action == "elect" else "; ".join(records(before.image, after.image))
        place = batches_before(steps) + len(before.log)
        yield f"{voter} has batch {place} of epoch {new[-1].epoch}, not committed" + (f": {what}" if what else "")
    elif step.action == "fetch_batch" and after.log == before.log[: len(after.log)] != before.log:
        yield f"{voter} cuts off {counted(len(before.log) - len(after.log))} not committed"


def committed_by(steps: Sequence[Taken]) -> Iterator[str]:
    """The batch that a step commits."""
    step = steps[-1]
    if step.action == "commit_batch":
        what = "; ".join(records(committed(step.before), committed(step.after)))
        epoch = step.after.stable[0].epoch
        yield f"batch {batches_before(steps)} of epoch {epoch} is committed" + (f": {what}" if what else "")


def batches_before(steps: Sequence[Taken]) -> int:
    """The number of the batch that follows what was committed before the last of these steps."""
    return 1 + sum(
        committed(step.before) != committed(step.after) or step.action == "commit_batch" for step in steps[:-1]
    )


def records(before: Metadata, after: Metadata) -> Iterator[str]:
    """The records that lead from one image to another, by their names in KIP-631."""
    for broker in Broker:
        yield from registration_records(broker, before.registrations[broker], after.registrations[broker])
    if before.topic != after.topic:
        yield "RemoveTopicRecord" if after.topic is None else "TopicRecord"
    for p in TopicPartition:
        was, now = before.partitions[p], after.partitions[p]
        if now is not None and was is None:
            yield f"PartitionRecord {p}: {placed(now)}"
        elif now is not None and was is not None and was != now:
            yield f"PartitionChangeRecord {p}: {moved(was, now)}"


def registration_records(broker: Broker, was: Registration | None, now: Registration | None) -> Iterator[str]:
    if now is None:
        if was is not None:
            yield f"UnregisterBrokerRecord {broker}"
        return
    if was is None or (was.incarnation, was.broker_epoch) != (now.incarnation, now.broker_epoch):
        yield f"RegisterBrokerRecord {broker}: broker epoch {now.broker_epoch}, its offset"
        return
    if was.fenced != now.fenced:
        yield f"{'FenceBrokerRecord' if now.fenced else 'UnfenceBrokerRecord'} {broker}"
    if now.in_controlled_shutdown and not was.in_controlled_shutdown:
        yield f"BrokerRegistrationChangeRecord {broker}: in controlled shutdown"


def placed(partition: Partition) -> str:
    led = "nobody leads" if partition.leader is None else f"{partition.leader} leads"
    return f"{led}, leader epoch {partition.leader_epoch}, ISR {members(partition.isr)}"


def moved(was: Partition, now: Partition) -> str:
    """The parts of a partition that a record changes."""
    said = []
    if was.leader != now.leader:
        said.append(f"leader {was.leader or 'nobody'} → {now.leader or 'nobody'}")
    if was.leader_epoch != now.leader_epoch:
        said.append(f"leader epoch {was.leader_epoch} → {now.leader_epoch}")
    if was.isr != now.isr:
        said.append(f"ISR {members(was.isr)} → {members(now.isr)}")
    if was.replicas != now.replicas:
        said.append(f"replicas {sequence(was.replicas)} → {sequence(now.replicas)}")
    if (was.adding, was.removing) != (now.adding, now.removing):
        said.append(f"adding {sequence(now.adding)}, removing {sequence(now.removing)}")
    return ", ".join([*said, f"partition epoch {was.partition_epoch} → {now.partition_epoch}"])


# Leaders, as they believe, and their data.


def leads_or_not(step: Taken, process: Process, p: TopicPartition) -> Iterator[str]:
    """A process that begins or ceases to lead, and the change of the ISR that a leader asks for."""
    was, now = step.before.processes[process].replicas[p], step.after.processes[process].replicas[p]
    if now.leadership is None:
        if was.leadership is not None:
            yield f"{process} leads {p} no longer"
        elif now.leader_epoch is not None and now.leader_epoch != was.leader_epoch:
            yield f"{process} follows in {p} at leader epoch {now.leader_epoch}"
        return
    if was.leadership is None or was.leader_epoch != now.leader_epoch:
        yield f"{process} leads {p} at leader epoch {now.leader_epoch}, ISR {members(now.leadership.isr)}"
        yield from others_that_lead(step.after, process, p)
        if step.after.produced[p] == RecordStatus.ACKNOWLEDGED and not now.has_record:
            yield f"{process} leads without the acknowledged record"
        return
    yield from asked_for(process, p, was.leadership, now.leadership)
    for member in in_order(now.leadership.replicas_with_record - was.leadership.replicas_with_record):
        yield f"{process} has seen {member} to have the record"


def others_that_lead(s: Cluster, process: Process, p: TopicPartition) -> Iterator[str]:
    for other in Process:
        replica = s.processes[other].replicas[p]
        if other != process and replica.leadership is not None:
            yield f"{other} still takes itself for the leader, at leader epoch {replica.leader_epoch}"


def asked_for(process: Process, p: TopicPartition, was: Leadership, now: Leadership) -> Iterator[str]:
    """The change of the ISR that a leader begins or ceases to ask for, and what it waits for before it asks again."""
    if now.awaits_metadata and not was.awaits_metadata:
        yield f"{process} asks no more until the metadata shows a newer {p}"
    if now.pending_change == was.pending_change:
        if now.isr != was.isr:
            yield f"{process} knows the ISR {members(now.isr)} of {p}"
        return
    maximal = f"its maximal ISR is {members(maximal_isr(now))}"
    if now.pending_change is None:
        known = f"knows the ISR {members(now.isr)} of {p}" if now.isr != was.isr else "forgets the change it asked for"
        yield f"{process} {known}; {maximal}"
    else:
        change = now.pending_change
        how = "without" if change.epoch is None else "with"
        seen = "" if change.epoch is None else f", seen at broker epoch {change.epoch}"
        yield f"{process} wants the ISR of {p} {how} {change.member}{seen}; {maximal}"


def data_of(steps: Sequence[Taken], process: Process, p: TopicPartition) -> Iterator[str]:
    """The record, where a process gets or loses it, and its acknowledgement."""
    step = steps[-1]
    was, now = step.before.processes[process].replicas[p], step.after.processes[process].replicas[p]
    if was.has_record != now.has_record:
        record = f"the record at offset 0{written_in(steps, p)}"
        yield f"{process} {'has' if now.has_record else 'loses'} {record}"
    if now.high_watermark and not was.high_watermark:
        acknowledged = step.before.produced[p] != step.after.produced[p] == RecordStatus.ACKNOWLEDGED
        yield f"{process}'s high watermark of {p} is 1" + (": the record is acknowledged" if acknowledged else "")


def written_in(steps: Sequence[Taken], p: TopicPartition) -> str:
    """The leader epoch in which the record was written, where the steps have that."""
    for step in steps:
        leader = step.given.get("leader")
        if step.action == "write" and step.given.get("p") == p and isinstance(leader, Process):
            return f", leader epoch {step.before.processes[leader].replicas[p].leader_epoch}"
    return ""


# Logs with epochs.


def on_logs(steps: Sequence[TakenStep[ReplicatedLog]]) -> Iterator[str]:
    """Notes on the last of these steps of a partition whose logs are kept record by record."""
    before, after = steps[-1].before, steps[-1].after
    if (before.leader, before.leader_epoch) != (after.leader, after.leader_epoch):
        yield f"{after.leader or 'nobody'} leads at leader epoch {after.leader_epoch}, as the controller has it"
    for broker in Broker:
        yield from on_log(broker, before.replicas[broker], after.replicas[broker])
    if before.acknowledged != after.acknowledged:
        yield f"acknowledged: {log(after.acknowledged)}"


def on_log(broker: Broker, was: LogReplica, now: LogReplica) -> Iterator[str]:
    if now.leader_epoch is not None and now.leader_epoch != was.leader_epoch:
        led = "leads" if now.leader == broker else f"follows {now.leader}"
        yield f"{broker} {led} at leader epoch {now.leader_epoch}"
    same = sum(1 for old, new in zip(was.log, now.log, strict=False) if old == new)
    if same < len(was.log):
        yield f"{broker} cuts off {log(was.log, same)}"
    if same < len(now.log):
        yield f"{broker} appends {log(now.log, same)}"
    for other in Broker:
        if now.leader_epoch == was.leader_epoch and now.log_ends[other] != was.log_ends[other]:
            yield f"{broker} counts {other} to have the log up to {now.log_ends[other]}"
    if now.high_watermark != was.high_watermark:
        yield f"{broker}'s high watermark: {was.high_watermark} → {now.high_watermark}"


def log(epochs: RecordEpochs, start: int = 0) -> str:
    """Records from `start` on, by offset and epoch."""
    shown = [f"offset {offset} of epoch {epoch}" for offset, epoch in enumerate(epochs) if offset >= start]
    return ", ".join(shown) or "nothing"


# Text.


def in_order(brokers: Set[Broker]) -> list[Broker]:
    return [broker for broker in Broker if broker in brokers]


def members(brokers: Set[Broker]) -> str:
    return f"{{{', '.join(map(repr, in_order(brokers)))}}}"


def sequence(brokers: Sequence[Broker]) -> str:
    return f"[{', '.join(map(repr, brokers))}]"


def counted(batches: int) -> str:
    return "1 batch is" if batches == 1 else f"{batches} batches are"


NOTES = [Notes(Cluster, on_cluster), Notes(ReplicatedLog, on_logs)]
