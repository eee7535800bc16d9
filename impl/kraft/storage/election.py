"""`quorum-state`: the epoch, its leader, and the vote in it; what a voter must remember over a crash (KIP-595)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from impl.kraft.storage.disk import Disk, read_whole, write_durably
from impl.kraft.storage.errors import REBUILD, BitRotError, StorageError

QUORUM_STATE = "quorum-state"
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class ElectionState:
    """An epoch; the leader in it, where it is known; for whom this voter has voted. Kept together, both or one."""

    epoch: int
    leader: int | None = None
    voted_for: int | None = None
    voters: tuple[int, ...] = ()


def write_election(disk: Disk, directory: str, state: ElectionState) -> None:
    """Once this has returned, a crash does not change it."""
    write_durably(disk, directory, QUORUM_STATE, to_json(state))


def read_election(disk: Disk, directory: str) -> ElectionState | None:
    """None: there was no election yet. Raises StorageError; BitRotError where it is not what anybody writes."""
    path = f"{directory}/{QUORUM_STATE}"
    try:
        data = read_whole(disk, path)
    except FileNotFoundError:
        return None
    return from_json(data, path)


def to_json(state: ElectionState) -> bytes:
    """The line of data version 0, as Kafka writes it."""
    fields = {
        "clusterId": "",
        "leaderId": _NOBODY if state.leader is None else state.leader,
        "leaderEpoch": state.epoch,
        "votedId": _NOBODY if state.voted_for is None else state.voted_for,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": voter} for voter in state.voters],
        "data_version": 0,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def from_json(data: bytes, path: str) -> ElectionState:
    """Raises BitRotError, or StorageError where a later Kafka has written it. Version 1 has no voters."""
    try:
        fields = json.loads(data)
        version = fields["data_version"]
        if version not in (0, 1):
            raise StorageError(f"{path}: data_version {version!r} is unknown; known are 0 and 1")
        epoch, leader, voted = (_number(fields, name) for name in ("leaderEpoch", "leaderId", "votedId"))
        voters = tuple(_number(voter, "voterId") for voter in (fields["currentVoters"] or ())) if version == 0 else ()
    except (ValueError, KeyError, TypeError) as error:
        raise BitRotError(f"{path}: not an election state ({type(error).__name__}: {error}). {REBUILD}") from None
    return ElectionState(epoch, _known(leader), _known(voted), voters)


def _number(fields: dict[str, object], name: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < _NOBODY:
        raise ValueError(f"{name} is {value!r}")
    return value


def _known(node_id: int) -> int | None:
    return None if node_id == _NOBODY else node_id
