"""A released voter of the quorum (`KafkaRaftClient`) in the place of our core, in a simulation.

Its classes run in a JVM (`releases/4.0/fencepost/Voters.java`), without threads, clock, sockets or disk: each input
answers with all that the voter asks for, in order. Its requests and responses are Kafka's bytes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from impl.apache.jvm import Jvm
from impl.kraft.raft.effects import (
    Answer,
    AppendToLog,
    Claim,
    Committed,
    Persist,
    Renounce,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import Request, Response
from impl.kraft.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter
from impl.kraft.server.quorum_wire import key_of, read_request, read_response, request_bytes, response_bytes
from impl.kraft.storage.election import ElectionState

MAIN = "fencepost.Voters"
_SAME_ORDER = (
    "-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=3", "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=exclude,java/util/ImmutableCollections*.*",
)  # fmt: skip
"""The hash of an object is its number, and the orders of immutable sets (see `Orders.java`) are in no compiled code."""
_ROLES: Mapping[str, Role] = {
    "unattached": Unattached(),
    "prospective": Prospective(),
    "candidate": Candidate(),
    "follower": Follower(),
    "resigned": Resigned(),
}


def jvm_of_voters(version: str) -> Jvm:
    """In which a run of the same seed is the same run. Raises ApacheError."""
    return Jvm(version, MAIN, _SAME_ORDER)


@dataclass(frozen=True, slots=True)
class FlushNow:
    """Make what is appended durable, before what comes next: Kafka's voter flushes in its own thread."""


class KafkaVoter:
    """The inputs of `impl.kraft.simulation.core.Core`. One timer stands for all of its own.

    versions: by key, the newest of each request that it speaks, known once it has started.
    """

    versions: Mapping[int, int]

    def __init__(
        self, jvm: Jvm, settings: RaftSettings, stored: ElectionState | None, log: bytes, configs: Mapping[str, int],
        seed: int,
    ) -> None:  # fmt: skip
        """stored, log: what the disk has. configs: of quorums, by the rest of their names. seed: of what is drawn."""
        self._jvm, self._settings = jvm, settings
        self._calls: dict[int, Request] = {}
        self._sent: dict[int, tuple[Request, int]] = {}
        self._start = {
            "voters": settings.voters,
            "election": None if stored is None else _told(stored),
            "log": _text(log),
            "configs": {f"controller.quorum.{name}": value for name, value in configs.items()},
            "fetchMaxWaitMs": settings.fetch_max_wait_ms,
            "seed": seed,
        }
        self.voter = Voter(settings, stored or ElectionState(0, voters=settings.voters), Unattached(), LogEnds())

    def start(self, now_ms: int) -> Sequence[object]:
        return self._step("start", now_ms, **self._start)

    def handle(self, call: int, request: Request, now_ms: int) -> Sequence[object]:
        self._calls[call] = request
        key = key_of(request)
        version = self.versions[key]
        return self._step(
            "request", now_ms, call=call, api=key, version=version, body=_text(request_bytes(request, version))
        )

    def on_response(self, to: int, request: Request, response: Response | None, now_ms: int) -> Sequence[object]:
        _, correlation = self._sent.pop(id(request))
        body = None if response is None else _text(response_bytes(response, self.versions[key_of(request)]))
        return self._step("response", now_ms, correlation=correlation, body=body)

    def on_timer(self, timer: Any, now_ms: int, peer: int | None = None) -> Sequence[object]:
        return self._step("wake", now_ms)

    def on_flushed(self, end_offset: int, now_ms: int) -> Sequence[object]:
        raise AssertionError("Kafka's voter flushes at once")

    def append(self, epoch: int, records: Sequence[bytes], now_ms: int) -> Sequence[object]:
        """What the controller has decided; nothing where it does not lead the epoch any more."""
        return self._step("append", now_ms, epoch=epoch, records=list(map(_text, records)))

    def resign(self, epoch: int, now_ms: int) -> Sequence[object]:
        if not isinstance(self.voter.role, Leader) or self.voter.epoch != epoch:
            return []
        return self._step("resign", now_ms, epoch=epoch)

    def _step(self, kind: str, now_ms: int, **more: Any) -> Sequence[object]:
        """Raises ApacheError for what the voter throws."""
        answer = self._jvm.ask({"kind": kind, "node": self._settings.node_id, "nowMs": now_ms, **more})
        if kind == "start":
            self.versions = {int(key): version for key, version in answer["versions"].items()}
        effects = [self._effect(one) for one in answer["effects"]]
        self._look(answer, now_ms)
        return [*(one for one in effects if one is not None), SetTimer(Timer.ELECTION, answer["wakeMs"])]

    def _effect(self, told: Mapping[str, Any]) -> object:
        match told:
            case {"persist": state}:
                return Persist(self._state(state))
            case {"append": data, "epoch": epoch}:
                return AppendToLog(b64decode(data), epoch)
            case {"flush": _}:
                return FlushNow()
            case {"truncate": end_offset}:
                return TruncateLog(end_offset)
            case {"send": to, "correlation": correlation, "api": api, "body": body}:
                request = read_request(api, b64decode(body), self.versions[api])
                self._sent[id(request)] = request, correlation
                return Send(to, request)
            case {"answer": call, "body": body}:
                request = self._calls.pop(call)
                return Answer(call, read_response(request, b64decode(body), self.versions[key_of(request)]))
            case {"committed": end_offset}:
                return Committed(end_offset)
            case {"claim": epoch}:
                return Claim(epoch)
            case {"renounce": epoch}:
                return Renounce(epoch)
            case {"refused": _}:
                return None
            case _:
                raise AssertionError(f"no effect of a voter: {told}")

    def _state(self, told: Mapping[str, int]) -> ElectionState:
        leader, voted = (None if told[name] < 0 else told[name] for name in ("leader", "voted"))
        return ElectionState(told["epoch"], leader, voted, self._settings.voters)

    def _look(self, answer: Mapping[str, Any], now_ms: int) -> None:
        """Take note of what it is now."""
        voter = self.voter
        voter.now_ms, voter.election = now_ms, self._state(answer)
        if answer["role"] == "leader":
            ends = {int(node): end for node, end in answer["ends"].items() if int(node) != self._settings.node_id}
            voter.role = Leader(answer["epochStart"], ends, {})
        else:
            voter.role = _ROLES[answer["role"]]
        for one in answer["effects"]:
            voter.high_watermark = one.get("committed", voter.high_watermark)


def _told(state: ElectionState) -> dict[str, int]:
    return {
        "epoch": state.epoch,
        "leader": -1 if state.leader is None else state.leader,
        "voted": -1 if state.voted_for is None else state.voted_for,
    }


def _text(data: bytes) -> str:
    return b64encode(data).decode()
