"""Raw traces of a real cluster, held to the rules of the quorum and of replicas at every event, as a simulation is.

All processes ran on one machine, whose clock orders what they have written (`impl.kraft.server` writes it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from uuid import UUID

from impl.kraft.image import PartitionKey
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchRequest, VoteRequest
from impl.kraft.raft.roles import Follower, Leader, Role, Unattached
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter
from impl.kraft.recorded.events import OF_DECISIONS, OF_REQUESTS, Event, RawTraceError, voters_of
from impl.kraft.simulation.invariants import Rules
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.storage.batches import Entry
from impl.kraft.storage.election import ElectionState


def hold(events: Sequence[Event], rules: Rules) -> None:
    """Hand events of voters to rules of as many. Raises BrokenRuleError, RawTraceError; each says at which line."""
    _hand(events, _Handing(voters_of(events), rules).hand)


def hold_replicas(events: Iterable[Event], rules: ReplicaRules) -> None:
    """Hand events of brokers to rules of their replicas. Raises BrokenRuleError, RawTraceError, as `hold`."""
    _hand(events, partial(hand_of_broker, rules))


def _hand(events: Iterable[Event], hand: Callable[[Event], None]) -> None:
    for event in events:
        if event.get("event") in OF_REQUESTS | OF_DECISIONS:
            continue
        try:
            hand(event)
        except AssertionError as error:
            raise type(error)(f"{event['line']}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise RawTraceError(f"{event['line']}: no event of a node ({error!r})") from None


def hand_of_broker(rules: ReplicaRules, event: Event) -> None:
    broker = event["node"]
    match event["event"]:
        case "logs_found":
            rules.start(broker, {_key(log): _entries(log) for log in event["logs"]})
        case "metadata_applied":
            rules.apply(broker, event["offset"])
        case "batch_written":
            rules.append(broker, _key(event), _entries(event))
        case "log_cut":
            rules.truncate(broker, _key(event), event["end_offset"])
        case "log_deleted":
            rules.delete(broker, _key(event))
        case "leads":
            rules.lead(broker, _key(event), event["leader_epoch"], is_recovering=event["is_recovering"])
        case "follows":
            rules.follow(broker, _key(event), event["leader_epoch"])
        case "fetch_served":
            rules.serve(_key(event), event["leader_epoch"], event["follower"], event["offset"])
        case "high_watermark":
            rules.commit(broker, _key(event), event["offset"], event["isr"])
        case other:
            raise ValueError(f"unknown event {other}")


def _key(event: Event) -> PartitionKey:
    return UUID(event["topic_id"]), event["partition"]


class _Handing:
    """Rules number voters from 0."""

    def __init__(self, voters: tuple[int, ...], rules: Rules) -> None:
        self._voters, self._rules = voters, rules

    def hand(self, event: Event) -> None:
        node, rules = self._voters.index(event["node"]), self._rules
        match event["event"]:
            case "started":
                rules.start(node, self._stored(event["election"]), _entries(event), event["start_offset"])
            case "persisting":
                rules.begin_to_persist(node, self._election(event["election"]))
            case "persisted":
                rules.persist(node, self._election(event["election"]))
            case "appended":
                rules.append(node, _entries(event))
            case "truncated":
                rules.truncate(node, event["end_offset"])
            case "installed":
                end_offset, epoch = event["snapshot_id"]
                rules.install(node, (end_offset, epoch))
            case "flushed":
                rules.flush(node, event["end_offset"])
            case "fetched":
                rules.send(node, FetchRequest("", node, 0, event["offset"], 0, -1, 0, 0))
            case "asked_for_vote":
                rules.send(node, VoteRequest("", None, node, event["epoch"], 0, event["end_offset"]))
            case "committed":
                rules.commit(node, event["end_offset"], self._voter(node, event["voter"]))
            case "seen":
                rules.look_at(node, self._voter(node, event["voter"]))
            case other:
                raise ValueError(f"unknown event {other}")

    def _voter(self, node: int, view: Event) -> Voter:
        settings = RaftSettings(node, tuple(range(len(self._voters))))
        return Voter(settings, self._election(view["election"]), self._role(view), LogEnds())

    def _role(self, view: Event) -> Role:
        match view["role"]:
            case "Leader":
                ends = {self._voters.index(int(other)): end for other, end in view["ends"].items()}
                return Leader(0, ends, {})
            case "Follower":
                return Follower()
            case _:
                return Unattached()

    def _stored(self, told: Event | None) -> ElectionState | None:
        return None if told is None else self._election(told)

    def _election(self, told: Event) -> ElectionState:
        leader, voted_for = (
            None if told[name] is None else self._voters.index(told[name]) for name in ("leader", "voted_for")
        )
        return ElectionState(told["epoch"], leader, voted_for)


def _entries(event: Event) -> list[Entry]:
    return [Entry(end_offset, epoch, crc) for end_offset, epoch, crc in event["batches"]]
