"""The raw trace of a voter: what it does to its log, its election state and to others, a line of JSON for each event.

What it decides as the active controller is in it, too, with the requests that it decides on. Of records, those of
brokers, topics and partitions: no secret is among them.
A line has the node, the process (when it was started), the number of the event in it, and when it was, by a clock that
all processes of a machine share: an event that another one causes is after it. What is to be done is written before it
is done, so that a process that is killed has done nothing else. `impl.kraft.simulation.replayed` reads it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from impl.kraft.effects import Reply
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ElectPreferredLeaderRequest,
)
from impl.kraft.metadata.tables import BY_NAME
from impl.kraft.raft.effects import Answer, AnswerFetch, AnswerSnapshot, Send
from impl.kraft.raft.messages import FetchRequest, Request, VoteRequest
from impl.kraft.raft.roles import Leader, Role
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.batches import decode_all, entries_of
from impl.kraft.storage.effects import AppendToLog, InstallSnapshot, Persist, TruncateLog
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.storage import QuorumStorage

REQUESTS: Mapping[type, str] = {
    kind: kind.__name__.removesuffix("Request")
    for kind in (
        BrokerRegistrationRequest, BrokerHeartbeatRequest, AlterPartitionRequest, AlterPartitionReassignmentRequest,
        ElectPreferredLeaderRequest,
    )
}  # fmt: skip
"""Those that are written, with their names."""
_RECORDS = frozenset(
    bytes((BY_NAME[name].number,))
    for name in (
        "REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD", "TOPIC_RECORD", "PARTITION_RECORD",
        "PARTITION_CHANGE_RECORD", "FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD", "REMOVE_TOPIC_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
    )
)  # fmt: skip
"""The numbers of the types that are written. All are below 128, so that they are a value's second byte."""


class RawFile:
    """Lines of a process, appended to a file. Any method raises OSError."""

    def __init__(self, path: Path, node: int) -> None:
        self._file = path.open("ab", buffering=0)
        self._node = node
        self._process, self._number = time.monotonic_ns(), 0

    def close(self) -> None:
        self._file.close()

    def write(self, event: str, **fields: Any) -> None:
        self._number += 1
        about = {"node": self._node, "process": self._process, "number": self._number, "mono_ns": time.monotonic_ns()}
        self._file.write(msgspec.json.encode({**about, "event": event, **fields}) + b"\n")


@dataclass(frozen=True, slots=True)
class _Handled:
    """Requests of one sender. responses: by call, those that there are."""

    calls: Sequence[int]
    api: str
    requests: Sequence[object]
    responses: dict[int, object] = field(default_factory=dict)


class RawTrace(RawFile):
    """Of a voter."""

    def __init__(self, path: Path, node: int, voters: tuple[int, ...]) -> None:
        super().__init__(path, node)
        self._voters = voters
        self._committed = 0
        self._calls: Sequence[int] = ()
        """On which the step at hand decides."""
        self._fences = False
        self._handled: _Handled | None = None
        """In the step at hand, and not written yet."""
        self._unanswered: dict[int, _Handled] = {}
        self._seen: tuple[type[Role], ElectionState, Mapping[int, int]] | None = None

    def started(self, storage: QuorumStorage) -> None:
        """What is on the disk of a process that has recovered it."""
        log = storage.log
        found = entries_of(log.read(log.start_offset))
        self.write(
            "started", voters=self._voters, election=election_of(storage.election), start_offset=log.start_offset,
            batches=found,
        )  # fmt: skip

    def before(self, effect: object, voter: Voter) -> None:
        """An effect is about to be carried out."""
        match effect:
            case Persist(state=state):
                self.write("persisting", election=election_of(state))
            case AppendToLog(data=data) if isinstance(voter.role, Leader):
                self._tell_handled()
                self.write("appended", batches=entries_of(data), calls=self._calls, **self._decided(data))
            case AppendToLog(data=data):
                self.write("appended", batches=entries_of(data))
            case TruncateLog(end_offset=end_offset):
                self.write("truncated", end_offset=end_offset)
            case InstallSnapshot(snapshot_id=snapshot_id):
                self.write("installed", snapshot_id=snapshot_id)
            case Send(request=request):
                self.committed(voter)
                self._sent(request)
            case Answer() | AnswerFetch() | AnswerSnapshot():
                self.committed(voter)
            case Reply(call=call, response=response):
                self.committed(voter)
                self._answered(call, response)

    def handled(self, calls: Sequence[int], requests: Sequence[object], *, decides: bool) -> None:
        """A step has taken these requests, all of one type; its effects are not carried out yet.

        Their sender is answered once all of them are. decides: the controller was active when the step began. Else it
        may come into office in it, and what it appends then is its own.
        """
        kind = type(requests[0])
        if kind in REQUESTS:
            self._handled = _Handled([*calls], REQUESTS[kind], requests)
            self._unanswered.update(dict.fromkeys(calls, self._handled))
            self._calls = self._handled.calls if decides else ()

    def _tell_handled(self, responses: Sequence[object] = ()) -> None:
        """Unless it is known already: before anything comes of it. responses: where all are there by now."""
        if self._handled is not None:
            told, self._handled = self._handled, None
            self.write(
                "request_handled", calls=told.calls, api=told.api, requests=told.requests, responses=responses
            )  # fmt: skip

    def _answered(self, call: int, response: object) -> None:
        handled = self._unanswered.pop(call, None)
        if handled is None:
            return
        handled.responses[call] = response
        if len(handled.responses) < len(handled.calls):
            return
        responses = [handled.responses[one] for one in handled.calls]
        if self._handled is handled:
            self._tell_handled(responses)
        else:
            self.write("request_answered", calls=handled.calls, responses=responses)

    def lapsed(self, broker: int) -> None:
        """The step at hand fences a broker whose lease has expired."""
        self._fences = True
        self.write("lease_expired", broker=broker)

    def _decided(self, data: bytes) -> dict[str, Any]:
        """What is decided on requests that are written has no other records, and is written as it is."""
        return {"data": data} if self._calls or self._fences else {"records": kept_records(data)}

    def _sent(self, request: Request) -> None:
        match request:
            case FetchRequest(fetch_offset=offset):
                self.write("fetched", offset=offset)
            case VoteRequest(pre_vote=False, epoch=epoch, last_offset=end_offset):
                self.write("asked_for_vote", epoch=epoch, end_offset=end_offset)

    def persisted(self, state: ElectionState) -> None:
        self.write("persisted", election=election_of(state))

    def flushed(self, end_offset: int) -> None:
        self.write("flushed", end_offset=end_offset)

    def committed(self, voter: Voter) -> None:
        """Nobody hears of anything before it is written what this voter takes for committed."""
        if voter.high_watermark > self._committed:
            self._committed = voter.high_watermark
            self.write("committed", end_offset=self._committed, voter=view_of(voter))

    def saw(self, voter: Voter) -> None:
        """All that a step has led to is done: how the voter is then, where that has changed."""
        self._tell_handled()
        self._calls, self._fences = (), False
        self.committed(voter)
        seen = type(voter.role), voter.election, ends_of(voter)
        if seen != self._seen:
            self._seen = seen
            self.write("seen", voter=view_of(voter))


def kept_records(data: bytes) -> list[list[bytes]]:
    """Of each batch, the records of brokers, topics and partitions. A batch of control records has none."""
    return [
        [value for record in batch.records if not batch.is_control and (value := record.value or b"")[1:2] in _RECORDS]
        for batch in decode_all(data)
    ]


def election_of(state: ElectionState | None) -> dict[str, int | None] | None:
    if state is None:
        return None
    return {"epoch": state.epoch, "leader": state.leader, "voted_for": state.voted_for}


def view_of(voter: Voter) -> dict[str, Any]:
    return {
        "role": type(voter.role).__name__, "election": election_of(voter.election),
        "ends": {str(other): end for other, end in sorted(ends_of(voter).items())},
    }  # fmt: skip


def ends_of(voter: Voter) -> Mapping[int, int]:
    return voter.role.ends if isinstance(voter.role, Leader) else {}
