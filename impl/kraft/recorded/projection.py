"""Traces of partitions, in the steps of `kraft/recorded`, from the raw traces of controllers and brokers.

Who was asked for what, and who heard of it, is known, so that no step is silent. A request is written where it was
handled, so that what is lost on the way is in no trace; a lease runs out where that counts; a process that ends is
written where the next one of its broker starts. A trace ends where something is decided that the model leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from impl.kraft.errors import ErrorCode
from impl.kraft.recorded.image import Partition, Place, Registration, is_stopped_by, name, place
from impl.kraft.recorded.records import is_of_directories
from impl.kraft.recorded.run import Asked, Decided, Elected, Looked, Started, Step, Stopping
from impl.kraft.recorded.steps import ELECTION, REASSIGNMENT, VOTER, Steps
from impl.kraft.records import RECOVERING
from traces.events import end_line, event_line, header_line, seen_line

MODEL = "kraft/recorded"
MOST_BROKERS = 5
"""That the model can have."""
_SEEN = ("RUNNING", "PENDING_CONTROLLED_SHUTDOWN")
"""States that a broker is in when the model says so: those before are steps of recovery there."""


def places(steps: Iterable[Step]) -> list[Place]:
    """The partitions that were ever created, in that order."""
    records = (one for step in steps if isinstance(step, Decided) for one in step.records)
    return [place(one) for one in records if one.type == "PARTITION_RECORD"]


class Projected(NamedTuple):
    """text: the lines of a trace. left_out: what it ends at, which the model has not; "" where it has all."""

    text: str
    left_out: str


def trace(about: str, steps: Iterable[Step], at: Place, brokers: int) -> Projected:
    """Of one partition. about: its name. brokers: how many there are."""
    projection, lines, left_out = _Projection(at, brokers), list[str](), ""
    try:
        for step in steps:
            lines += projection.lines(step)
    except _LeftOutError as error:
        left_out = str(error)
    header = header_line(MODEL, constants={"brokers": brokers}, name=about)
    return Projected("".join([header, *lines, end_line(len(lines))]), left_out)


class _LeftOutError(Exception):
    """The model has no such step. The message says what happens."""


@dataclass
class _Process:
    """A broker's, as the model has it. number: None: none runs. epoch: that it has learnt."""

    number: int | None = None
    state: str = "NOT_RUNNING"
    epoch: int | None = None


@dataclass
class _Projection:
    at: Place
    brokers: int
    _processes: dict[int, _Process] = field(default_factory=dict)
    _shutdowns: dict[int, int] = field(default_factory=dict)
    """By broker, the offset that others must reach before it may go: soft state of the active controller."""
    _epochs_left_out: int = 0
    """Of the partition."""
    _is_led: bool = False

    def __post_init__(self) -> None:
        self.steps = Steps(self.at, self.brokers)
        self._processes = {broker: _Process() for broker in range(self.brokers)}

    def lines(self, step: Step) -> Iterator[str]:
        """Raises _LeftOutError."""
        match step:
            case Started(broker=broker, process=number):
                if self._processes[broker].number is not None:
                    yield event_line("crash", {"process": name(broker)})
                self._processes[broker] = _Process(number, "STARTING")
                yield event_line("start", {"process": name(broker)})
            case Stopping(broker=broker):
                yield from self._stopping(broker)
            case Looked(broker=broker, process=number, state=state):
                if state in _SEEN and self._processes[broker].number == number:
                    yield seen_line({"processes": {name(broker): {"state": state}}})
            case Elected():
                if self._is_led:
                    yield event_line("fail_over", VOTER)
                self._is_led = True
                self._shutdowns.clear()
            case Decided():
                yield from self._decided(step)

    def _stopping(self, broker: int) -> Iterator[str]:
        process = self._processes[broker]
        if process.number is None or process.state == "PENDING_CONTROLLED_SHUTDOWN":
            return
        yield event_line("sigterm", {"process": name(broker)})
        if process.state == "RUNNING":
            process.state = "PENDING_CONTROLLED_SHUTDOWN"
        else:
            self._processes[broker] = _Process()

    # What was decided.

    def _decided(self, step: Decided) -> Iterator[str]:
        before, holders = self.steps.partition, dict(self.steps.image.registrations)
        self._check_modelled(step)
        for record in step.records:
            if not is_of_directories(record):
                self.steps.image.replay(record)
            elif place(record) == self.at:
                self._epochs_left_out += 1
        asked = {one.api: one for one in step.asked}
        if "BrokerRegistration" in asked:
            yield from self._registration(asked["BrokerRegistration"], step, holders)
        elif "BrokerHeartbeat" in asked:
            yield from self._heartbeat(asked["BrokerHeartbeat"], step)
        elif step.lapsed is not None:
            self._shutdowns.pop(step.lapsed, None)
            yield self._lapsed(step.lapsed, holders)
            yield self.steps.decided("fence_expired", {"broker": name(step.lapsed)})
        else:
            yield from self._of_partition(step, before)

    def _check_modelled(self, step: Decided) -> None:
        """Raises _LeftOutError. Who is elected in an unclean way recovers (KIP-704): another one must be in the ISR."""
        for record in step.records:
            if record.type == "UNREGISTER_BROKER_RECORD":
                raise _LeftOutError(f"{name(record.fields['brokerId'])} is unregistered")
            is_own = record.type == "PARTITION_CHANGE_RECORD" and place(record) == self.at
            if is_own and record.fields.get("leaderRecoveryState") == RECOVERING:
                raise _LeftOutError("its leader is elected in an unclean way")

    def _owner(self, asked: Asked) -> _Process | None:
        """The process that has sent it, if that is its broker's last one still."""
        if asked.broker is None or asked.process is None:
            return None
        process = self._processes[asked.broker]
        return process if process.number == asked.process else None

    def _lapsed(self, broker: int, holders: Mapping[int, Registration]) -> str:
        """Its lease runs out: its process is gone, or is not heard. holders: the registrations until now."""
        is_silent = self._processes[broker].epoch != holders[broker].epoch
        return event_line("expire_lease" if is_silent else "expire_lease_of_live", {**VOTER, "broker": name(broker)})

    def _registration(self, asked: Asked, step: Decided, holders: Mapping[int, Registration]) -> Iterator[str]:
        """holders: the registrations until now."""
        process, broker = self._owner(asked), asked.broker
        is_granted = any(record.type == "REGISTER_BROKER_RECORD" for record in step.records)
        is_modelled = asked.error in (None, ErrorCode.NONE, ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        if process is None or broker is None or not is_modelled:
            if is_granted:
                raise _LeftOutError("a process is registered that has ended, or is not known")
            return
        if is_granted:
            if broker in holders and not holders[broker].fenced:
                yield self._lapsed(broker, holders)
            self._shutdowns.pop(broker, None)
            self.steps.incarnations[broker] = asked.process or 0
        sender = {"process": name(broker)}
        yield event_line("send_registration" if process.epoch is None else "register_again", sender)
        yield self.steps.decided("handle_registration")
        if process.epoch is not None:
            return  # it waits for no reply
        yield event_line("receive_registration_reply" if asked.is_heard else "lose_lifecycle_reply", sender)
        if asked.is_heard and asked.error is ErrorCode.NONE:
            process.epoch = self.steps.image.registrations[broker].epoch

    def _heartbeat(self, asked: Asked, step: Decided) -> Iterator[str]:
        process, broker, said = self._owner(asked), asked.broker, asked.fields
        registration = None if broker is None else self.steps.image.registrations.get(broker)
        if process is None or broker is None or process.epoch != said["broker_epoch"] or said["offline_log_dirs"]:
            if step.records:
                raise _LeftOutError("a log directory has failed, or who sends a heartbeat has ended")
            return
        is_stale = registration is None or registration.epoch != process.epoch
        is_fenced = registration is None or registration.fenced
        is_plain = process.state == "RUNNING" and not (is_stale or is_fenced or said["want_shut_down"])
        if is_plain and not (step.records or self._shutdowns):
            return  # it renews a lease, of which nothing is known
        if not said["want_fence"] and process.state == "STARTING":
            process.state = "RECOVERY"
            yield event_line("recover", {"process": name(broker)})
        reached = [one for one, offset in self._shutdowns.items() if offset <= said["current_metadata_offset"]]
        last = max(reached, key=lambda one: self._shutdowns[one], default=None)
        yield event_line("send_heartbeat_as_heard", {
            "process": name(broker), "want_fence": said["want_fence"], "want_shut_down": said["want_shut_down"],
            "caught_up": said["current_metadata_offset"] >= said["broker_epoch"],
            "reached": None if last is None else name(last),
        })  # fmt: skip
        begins = any(is_stopped_by(record) for record in step.records)
        shuts_down = not begins and asked.response.get("should_shut_down", is_fenced and bool(step.records))
        if begins:
            self._shutdowns[broker] = step.last_offset
        elif shuts_down or step.records:
            self._shutdowns.pop(broker, None)
        yield self.steps.decided("handle_heartbeat")
        if is_stale or shuts_down or (process.state == "RECOVERY" and not is_fenced):
            yield from self._heard(asked, process, broker, is_fenced=is_fenced, shuts_down=shuts_down)

    def _heard(
        self, asked: Asked, process: _Process, broker: int, *, is_fenced: bool, shuts_down: bool
    ) -> Iterator[str]:
        """The answer to a heartbeat which moves its sender."""
        sender = {"process": name(broker)}
        if not asked.is_heard:
            yield event_line("lose_lifecycle_reply", sender)
            return
        yield event_line("receive_heartbeat_reply", sender)
        if process.state == "RECOVERY" and not is_fenced:
            process.state = "RUNNING"
        elif process.state == "PENDING_CONTROLLED_SHUTDOWN" and shuts_down:
            process.state = "SHUTTING_DOWN"

    # Of a partition alone.

    def _of_partition(self, step: Decided, before: Partition | None) -> Iterator[str]:
        own = [one for one in step.asked if one.api == "AlterPartition" and self._is_about(one)]
        if own and before is not None and self.steps.partition == before:
            if self._is_refusal_modelled(own[0], before):
                yield from self.steps.alter_isr(before.leader, [*own[0].isr])
            return
        kinds = {one.api for one in step.asked}
        if "AlterPartitionReassignment" in kinds:
            operation = REASSIGNMENT
        elif "AlterPartition" in kinds:
            operation = ""
        else:  # on an operator's request, or by the balancer; topics need no name
            operation = ELECTION
        yield from self.steps.of_partition(operation, before, [*own[0].isr] if own else None)

    def _is_about(self, asked: Asked) -> bool:
        return (UUID(asked.fields["topic_id"]), asked.fields["partition_id"]) == self.at

    def _is_refusal_modelled(self, asked: Asked, before: Partition) -> bool:
        """It was answered, to the leader, which knows the partition as it is, and adds one that it knows as it is."""
        said, registrations = asked.fields, self.steps.image.registrations
        leader = registrations.get(before.leader)
        is_of_leader = asked.broker == before.leader and leader is not None and leader.epoch == said["broker_epoch"]
        epochs = said["leader_epoch"], said["partition_epoch"] - self._epochs_left_out
        added = asked.isr.keys() - set(before.isr)
        are_known = all(one in registrations and registrations[one].epoch == asked.isr[one] for one in added)
        is_of_now = is_of_leader and epochs == (before.leader_epoch, before.partition_epoch)
        is_of_now &= asked.error not in (None, ErrorCode.NOT_CONTROLLER)
        return is_of_now and asked.isr.keys() != set(before.isr) and len(added) <= 1 and are_known
