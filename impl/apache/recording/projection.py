"""The trace of one partition, in the steps of `kraft/recorded`: what was done to brokers, and what was decided.

A decision implies its request, which is written just before it; where the request for an ISR was seen, it is that one.
A registration that was refused stands where it can only have been, or is left out. The journal, the network and the
log have times of one clock; a request may land when its sender is dead already, and then the death is written behind
the decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from impl.apache.recording.decisions import Decision
from impl.apache.recording.driving import CRASH, SIGTERM, START, Done
from impl.apache.recording.requests import AskedForIsr, Refused, Seen
from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.recorded.image import (
    Partition,
    Place,
    is_fenced_by,
    is_stopped_by,
    is_unfenced_by,
    name,
    place,
)
from impl.kraft.recorded.steps import ELECTION, VOTER, Steps
from traces.events import end_line, event_line, header_line

MODEL = "kraft/recorded"
SILENT = {"steps": 5, "actions": ["expire_lease", "expire_lease_of_live", "report", "end_stopped"]}
"""What the log does not show: heartbeats and leases of up to three brokers, and that a process has ended."""

_UNDER_WAY_MS = 2_000
"""For so long a request may lie with a controller whose sender is dead."""
BATCH_MS = 100
"""A batch of Kafka's has the time at which it was begun: what is decided within it may be younger by as much."""
NOTHING_SEEN = Seen()
HEARTBEAT, FENCING = "processBrokerHeartbeat", "maybeFenceStaleBroker"
_ELECTIONS = (ELECTION, "electPreferred")


def places(decisions: Sequence[Decision]) -> list[Place]:
    """The partitions that were ever created, in that order."""
    return [place(one) for decision in decisions for one in decision.records if one.type == "PARTITION_RECORD"]


def trace(
    about: str,
    decisions: Sequence[Decision],
    journal: Sequence[Done],
    at: Place,
    brokers: int,
    batch_ms: int = BATCH_MS,
    seen: Seen = NOTHING_SEEN,
) -> str:
    """The lines of a partition's trace. about: its name. batch_ms: by how much decisions may be younger than told."""
    lines = list(Projection(at, brokers, batch_ms, seen).lines(decisions, journal))
    header = header_line(MODEL, constants={"brokers": brokers}, name=about, silent=SILENT)
    return "".join([header, *lines, end_line(len(lines))])


@dataclass
class _Life:
    """A broker's process. incarnation: the number of its start. is_up: it was unfenced. stops: it got SIGTERM."""

    incarnation: int = -1
    is_alive: bool = False
    is_up: bool = False
    stops: bool = False


@dataclass
class Projection:
    """Writes the events of one partition of a run."""

    at: Place
    brokers: int
    batch_ms: int = BATCH_MS
    seen: Seen = NOTHING_SEEN
    _lives: dict[int, _Life] = field(default_factory=dict)
    _starts: int = 0
    _is_led: bool = False

    def __post_init__(self) -> None:
        self.steps = Steps(self.at, self.brokers)

    def lines(self, decisions: Sequence[Decision], journal: Sequence[Done]) -> Iterator[str]:
        self._lives = {broker: _Life() for broker in range(self.brokers)}
        placed = placed_in(decisions, journal, self.batch_ms)
        refused = refused_in(decisions, self.seen.refused, self.batch_ms)
        for number, decision in enumerate(decisions):
            for done in placed.get(number, ()):
                yield from self._done(done)
            for one in refused.get(number, ()):
                yield from self._refused(one)
            yield from self._decision(decision)

    # What was done to brokers.

    def _done(self, done: Done) -> Iterator[str]:
        life, process = self._lives[done.broker], {"process": name(done.broker)}
        if done.what == START:
            self._lives[done.broker] = _Life(self._starts, is_alive=True)
            self._starts += 1
            yield event_line("start", process)
        elif done.what == SIGTERM and life.is_alive:
            life.stops = True
            life.is_alive = life.is_up
            yield event_line("sigterm", process)
        elif done.what == CRASH and life.is_alive:
            self._lives[done.broker] = _Life()
            yield event_line("crash", process)

    def _refused(self, one: Refused) -> Iterator[str]:
        life, process = self._lives[one.broker], {"process": name(one.broker)}
        if life.is_alive and self.steps.incarnations.get(one.broker) != life.incarnation:
            yield event_line("send_registration", process)
            yield self.steps.decided("handle_registration")
            yield event_line("receive_registration_reply", process)

    # What was decided.

    def _decision(self, decision: Decision) -> Iterator[str]:
        if decision.leader is not None:
            if self._is_led:
                yield event_line("fail_over", VOTER)
            self._is_led = True
            return
        before = self.steps.partition
        lifecycle = [one for one in decision.records if _is_of_lifecycle(one)]
        for record in decision.records:
            self.steps.image.replay(record)
        if lifecycle:
            yield from self._of_lifecycle(lifecycle[0], decision, before)
        else:
            yield from self._of_partition(decision, before)

    def _of_lifecycle(self, record: MetadataRecord, decision: Decision, before: Partition | None) -> Iterator[str]:
        broker = record.fields["brokerId"]
        life, process = self._lives[broker], {"process": name(broker)}
        if record.type == "REGISTER_BROKER_RECORD":
            is_repeated = self.steps.incarnations.get(broker) == life.incarnation
            self.steps.incarnations[broker] = life.incarnation
            yield event_line("register_again" if is_repeated else "send_registration", process)
            yield self.steps.decided("handle_registration")
            if not is_repeated:
                yield event_line("receive_registration_reply", process)
        elif is_unfenced_by(record):
            if not life.is_up:
                yield event_line("recover", process)
            yield from self._asked(process, is_answered=not life.is_up)
            life.is_up = True
        elif is_stopped_by(record):
            if before is not None and before.leader == broker:
                yield from self._asked(process, is_answered=False)
            else:
                yield self.steps.decided("begin_shutdown", process)
        elif is_fenced_by(record):
            by_heartbeat = decision.operation == HEARTBEAT or (not decision.operation and life.stops)
            if by_heartbeat:  # it is let go, and ends at any time, or it asks again: the answer may be lost
                yield from self._asked(process, is_answered=False)
                yield event_line("lose_lifecycle_reply", process)
            else:
                yield self.steps.decided("fence_expired", {"broker": name(broker)})

    def _asked(self, process: dict[str, str], *, is_answered: bool) -> Iterator[str]:
        yield event_line("ask_by_heartbeat", process)
        yield self.steps.decided("handle_heartbeat")
        if is_answered:
            yield event_line("receive_heartbeat_reply", process)

    def _of_partition(self, decision: Decision, before: Partition | None) -> Iterator[str]:
        operation = ELECTION if decision.operation in _ELECTIONS else decision.operation
        after = self.steps.partition
        asked = next((one.isr for one in self.seen.isr if self._led_to(one, before, after)), None)
        yield from self.steps.of_partition(operation, before, asked)

    def _led_to(self, asked: AskedForIsr, before: Partition | None, after: Partition | None) -> bool:
        if before is None or after is None:
            return False
        epochs = asked.leader_epoch, asked.partition_epoch, asked.after
        return (asked.at, asked.leader) == (self.at, before.leader) and epochs == (
            before.leader_epoch, before.partition_epoch, after.partition_epoch,
        )  # fmt: skip


def _is_of_lifecycle(record: MetadataRecord) -> bool:
    if record.type == "BROKER_REGISTRATION_CHANGE_RECORD":
        return is_fenced_by(record) or is_unfenced_by(record) or is_stopped_by(record)
    return record.type == "REGISTER_BROKER_RECORD"


# The order of what was done and what was decided.


def placed_in(
    decisions: Sequence[Decision], journal: Sequence[Done], batch_ms: int = BATCH_MS
) -> dict[int, list[Done]]:
    """By the number of a decision, what was done before it. What was done behind the last one is left out."""
    placed: dict[int, list[Done]] = {}
    journal = _told_by_incarnations(decisions, journal)
    ends = dict.fromkeys((done.broker for done in journal), 0)
    for number, done in enumerate(journal):
        later = (other.time_ms for other in journal[number + 1 :] if other.broker == done.broker)
        before = _place(decisions, done, next(later, None), batch_ms)
        ends[done.broker] = before = max(before, ends[done.broker])
        placed.setdefault(before, []).append(done)
    return placed


def _told_by_incarnations(decisions: Sequence[Decision], journal: Sequence[Done]) -> list[Done]:
    """With starts no earlier than what the process before has asked for, which may land when another is starting."""
    found = list[Done]()
    for number, done in enumerate(journal):
        later = (other.time_ms for other in journal[number + 1 :] if other.broker == done.broker)
        until_ms = next(later, None)
        registered = [
            one for one in decisions
            if one.time_ms > done.time_ms and (until_ms is None or one.time_ms <= until_ms)
            and _incarnation(one, done.broker) is not None
        ]  # fmt: skip
        incarnations = [_incarnation(one, done.broker) for one in registered]
        is_late = done.what == START and len(set(incarnations)) > 1
        own_ms = registered[incarnations.index(incarnations[-1])].time_ms - 1 if is_late else done.time_ms
        found.append(replace(done, time_ms=own_ms))
    return found


def _incarnation(decision: Decision, broker: int) -> UUID | None:
    """That it registers of a broker."""
    for record in decision.records:
        if record.type == "REGISTER_BROKER_RECORD" and record.fields["brokerId"] == broker:
            incarnation: UUID = record.fields["incarnationId"]
            return incarnation
    return None


def _place(decisions: Sequence[Decision], done: Done, next_ms: int | None, batch_ms: int) -> int:
    by_time = next((n for n, one in enumerate(decisions) if one.time_ms > done.time_ms), len(decisions))
    own = [n for n, one in enumerate(decisions) if _asks(one) == done.broker]
    if done.what == CRASH:
        until_ms = min(done.time_ms + _UNDER_WAY_MS, next_ms or done.time_ms + _UNDER_WAY_MS)
        late = [n for n in own if n >= by_time and decisions[n].time_ms <= until_ms]
        return max([by_time, *(n + 1 for n in late), *_unfenced(decisions, own, by_time)])
    at = min([by_time, *(n for n in own if 0 <= done.time_ms - decisions[n].time_ms <= batch_ms)])
    return at if done.what == START else max([at, *_unfenced(decisions, own, by_time)])


def _unfenced(decisions: Sequence[Decision], own: Sequence[int], since: int) -> Iterator[int]:
    """Behind decisions that unfence a broker that was told to stop, or is dead: it had asked for that before."""
    for n in own:
        if n >= since and any(record.type == "REGISTER_BROKER_RECORD" for record in decisions[n].records):
            return
        if n >= since and any(_is_of_lifecycle(record) and is_unfenced_by(record) for record in decisions[n].records):
            yield n + 1


def _asks(decision: Decision) -> int | None:
    """The broker whose registration or heartbeat it answers."""
    for record in decision.records:
        if record.type == "REGISTER_BROKER_RECORD":
            return int(record.fields["brokerId"])
        if _is_of_lifecycle(record) and decision.operation != FENCING:
            return int(record.fields["brokerId"])
    return None


def refused_in(
    decisions: Sequence[Decision], refused: Sequence[Refused], batch_ms: int = BATCH_MS
) -> dict[int, list[Refused]]:
    """By the number of a decision, the registrations that were refused before it, of those whose place is certain.

    Nothing about their brokers was decided meanwhile, who refused them led, and the incarnation is registered later.
    """
    placed: dict[int, list[Refused]] = {}
    for one in refused:
        before = next((n for n, other in enumerate(decisions) if other.time_ms > one.answered_ms), len(decisions))
        leaders = (other.leader for other in reversed(decisions[:before]) if other.leader is not None)
        meanwhile = (other for other in decisions[:before] if other.time_ms + batch_ms >= one.sent_ms)
        is_certain = not any(_is_about(other, one.broker) for other in meanwhile)
        if is_certain and next(leaders, None) == one.controller and _next(decisions[before:], one) == one.incarnation:
            placed.setdefault(before, []).append(one)
    return placed


def _is_about(decision: Decision, broker: int) -> bool:
    return any(_is_of_lifecycle(record) and record.fields["brokerId"] == broker for record in decision.records)


def _next(decisions: Sequence[Decision], refused: Refused) -> UUID | None:
    """The incarnation that is registered next under the id."""
    found = (_incarnation(decision, refused.broker) for decision in decisions)
    return next((one for one in found if one is not None), None)
