"""The fields of the design's classes, and what each of them is: what the key of a cluster is derived by.

Epochs and incarnations are ordinals. Offsets of the metadata log are what they reach, of those that somebody waits for.
A field that has no rule here is part of the key as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from checker.conform.graph import By, Elsewhere, Fields, Graph, LeftOut, Rule, Rules, plain
from checker.conform.system import Ordinal, Structure
from impl.adapters.kraft.cluster import Answer, ControllerHost, ProcessHost
from impl.adapters.kraft.epoch_history import EpochHistory, topic_number
from impl.adapters.kraft.observed import controller_epoch
from impl.adapters.kraft.times import COPY_ON_WRITE_DICT, TIMES, broker_timers, image_beside, lease_timers, sessions
from impl.adapters.kraft.values import Lacking, Remembering
from impl.kraft.broker import (
    Broker,
    FollowerState,
    InMemoryReplicaLog,
    Lifecycle,
    LogEntry,
    PartitionFollower,
    PartitionLeader,
)
from impl.kraft.controller import Controller, Session
from impl.kraft.controller.controller import Waiting
from impl.kraft.controller.sessions import Sessions
from impl.kraft.copy_on_write import CopyOnWriteDict
from impl.kraft.image import Image, Partition, PartitionKey, Registration
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    Request,
    Response,
)

SHOWN = Elsewhere("what is observed")


@dataclass(frozen=True, slots=True)
class Context:
    """marks: offsets of the metadata log that somebody waits for. listens: clients ask brokers for metadata.

    rivals: brokers of which two processes may run at a time. registers_anew: a registration may take another's place.
    lacking: as `Cluster.lacking`.
    """

    history: EpochHistory
    marks: tuple[int, ...]
    listens: bool
    rivals: frozenset[int]
    registers_anew: bool
    lacking: Lacking


# Ordinals.


def incarnation(value: Any, _: Any, graph: Graph) -> Structure:
    return Ordinal("Incarnation", value.int)


def broker_epoch(value: int | None, _: Any, graph: Graph) -> Structure:
    return value if value is None or value < 0 else graph.context.history.broker_epoch(value)


def epoch_of_controller(value: int | None, _: Any, graph: Graph) -> Structure:
    return None if value is None else controller_epoch(value)


def mark(value: int, _: Any, graph: Graph) -> Structure:
    found: Structure = graph.context.history.reached(graph.context.marks, value)
    return found


def in_order(value: Any, _: Any, graph: Graph) -> Structure:
    """A set, as whatever it is kept."""
    return tuple(sorted(value))


# Metadata.


def partitions(value: CopyOnWriteDict[PartitionKey, Partition], _: Any, graph: Graph) -> Structure:
    history = graph.context.history
    return tuple(
        [
            (topic_number(key[0]), key[1], history.leader_epoch(key, one.leader_epoch),
             history.partition_epoch(key, one.partition_epoch), graph.of(one))
            for key, one in sorted(value.items(), key=itemgetter(0))
        ]
    )  # fmt: skip


def non_empty(value: dict[int, CopyOnWriteDict[PartitionKey, None]], _: Any, graph: Graph) -> Structure:
    return tuple((id_, frozenset(keys)) for id_, keys in sorted(value.items()) if keys)


IMAGE: Fields = {
    "offset": mark,
    "epoch": epoch_of_controller,
    "transaction": plain,
    "registrations": plain,
    "controllers": plain,
    "topics": plain,
    "topic_ids": plain,
    "partition_counts": plain,
    "partitions": partitions,
    "configs": plain,
    "features": plain,
    "next_producer_id": plain,
    "kept": plain,
    "acls": plain,
    "credentials": plain,
    "quotas": plain,
    "in_isr": non_empty,
    "reassigning": plain,
    "leaderless": plain,
}
REGISTRATION: Fields = {
    "broker_id": plain,
    "incarnation_id": incarnation,
    "broker_epoch": broker_epoch,
    "endpoints": plain,
    "features": plain,
    "rack": plain,
    "fenced": plain,
    "in_controlled_shutdown": plain,
    "log_dirs": plain,
}
PARTITION: Fields = {
    "leader_recovery_state": plain,
    "directories": plain,
    "replicas": plain,
    "isr": in_order,
    "removing_replicas": plain,
    "adding_replicas": plain,
    "leader": plain,
    "leader_epoch": Elsewhere("the image, with the partition"),
    "partition_epoch": Elsewhere("the image, with the partition"),
}

# Requests and responses.


def request_of(history: EpochHistory, request: AlterPartitionRequest | None) -> Structure:
    if request is None:
        return None
    key = request.topic_id, request.partition_id
    members = [(one.broker_id, one.broker_epoch if one.broker_epoch < 0 else history.broker_epoch(one.broker_epoch))
               for one in request.new_isr]  # fmt: skip
    return (
        topic_number(key[0]),
        key[1],
        history.leader_epoch(key, request.leader_epoch),
        history.partition_epoch(key, request.partition_epoch),
        history.broker_epoch(request.broker_epoch),
        tuple(members),
    )


def alter_request(value: AlterPartitionRequest | None, _: Any, graph: Graph) -> Structure:
    return request_of(graph.context.history, value)


def response_to(request: Request, response: Response, graph: Graph) -> Structure:
    read = graph.of(response)
    if not isinstance(response, AlterPartitionResponse) or not isinstance(request, AlterPartitionRequest):
        return read
    if response.partition_epoch < 0:
        return read
    key, history = (request.topic_id, request.partition_id), graph.context.history
    epochs = history.leader_epoch(key, response.leader_epoch), history.partition_epoch(key, response.partition_epoch)
    return (read, *epochs)


ALTER_PARTITION_RESPONSE: Fields = {
    "error": plain,
    "leader": plain,
    "leader_epoch": Elsewhere("the answer, with the partition"),
    "partition_epoch": Elsewhere("the answer, with the partition"),
    "isr": in_order,
}
HEARTBEAT_RESPONSE: Fields = {
    "error": plain,
    "is_caught_up": LeftOut("no broker of the design goes by it"),
    "is_fenced": plain,
    "should_shut_down": plain,
}

# Controllers. What one that is out of sight knows is replaced before it decides anything that shows.

Controlling = Callable[[Any, ControllerHost, Graph], Structure]


def in_sight(rule: Controlling) -> Rule:
    """The rule, of a controller that is not out of sight."""

    def of(value: Any, _: Any, graph: Graph) -> Structure:
        host = graph.owner(ControllerHost)
        return None if host.is_out_of_sight else rule(value, host, graph)

    return of


def pending(value: Any, host: ControllerHost, graph: Graph) -> Structure:
    """How many batches it thinks are not committed, where they are those that are not."""
    written = [entry.batch for entry in host.log]
    return len(value) if list(value) == written else graph.of(tuple(value))


CONTROLLER: Fields = {
    "settings": plain,
    "committed": in_sight(image_beside),
    "speculative": in_sight(image_beside),
    "epoch": in_sight(epoch_of_controller),
    "sessions": plain,
    "_pending": in_sight(pending),
    "waiting": Elsewhere("the key of the cluster, with the senders that wait"),
}


def report(value: int, _: Any, graph: Graph) -> Structure:
    """What the offset in a heartbeat decides: whose controlled shutdown need not wait for its sender any more."""
    stopping = (session.shutdown_offset for session in graph.owner(Sessions).of_broker.values())
    found: Structure = graph.context.history.last_of((at for at in stopping if at is not None), value)
    return found


SESSION: Fields = {
    "contact_ms": Elsewhere("the sessions, as a lease that has run out or not"),
    "metadata_offset": report,
    "shutdown_offset": lambda value, _, graph: None if value is None else graph.context.history.offset(value),
}


CONTROLLER_HOST: Fields = {
    "core": plain,
    "image": in_sight(lambda value, _, graph: graph.of(value)),
    "timers": in_sight(lease_timers),
    "now_ms": TIMES,
    "epoch": SHOWN,
    "is_elected": SHOWN,
    "lags_since": SHOWN,
    "high_watermark": Elsewhere("the core, whose committed image ends there"),
    "log": SHOWN,
    "waiting": Elsewhere("the key of the cluster, with the senders that wait"),
    "operators": Elsewhere("the key of the cluster, with the senders that wait"),
    "made": LeftOut("it only tells calls apart"),
}

# Brokers.


def registrations_seen(value: dict[int, Registration], _: Any, graph: Graph) -> Structure:
    """The brokers that a leader may look at or a client is told of; the next replay makes every image the newest.

    Of one that is not active, a leader only tells by the broker epoch which fetches an older process of the id sends.
    """
    core = graph.owner(Broker)
    own = value.get(core.broker_id)
    is_own = core.applied_offset < 0 and own is not None and own.broker_epoch == core.broker_epoch
    watched = {id_ for leader in core.leaders.values() for id_ in leader.replicas if id_ != leader.broker_id}
    listed = tuple(id_ for id_, one in sorted(value.items()) if not one.fenced) if graph.context.listens else ()
    history = graph.context.history
    candidates = [(id_, one.is_active, history.broker_epoch(one.broker_epoch)) for id_, one in sorted(value.items())
                  if id_ in watched and (one.is_active or id_ in graph.context.rivals)]  # fmt: skip
    return (is_own, listed, tuple(candidates))


NEWEST = LeftOut("the next replay makes every image the newest, and nobody looks at it before")
BROKER_IMAGE: Fields = {**dict.fromkeys(IMAGE, NEWEST), "registrations": registrations_seen}


def logs(value: dict[PartitionKey, InMemoryReplicaLog], _: Any, graph: Graph) -> Structure:
    """A log that is empty is as good as none."""
    history = graph.context.history
    return tuple(
        [
            (topic_number(key[0]), key[1], tuple(history.leader_epoch(key, one.leader_epoch) for one in log.entries),
             graph.of(log))
            for key, log in sorted(value.items(), key=itemgetter(0))
            if log.entries
        ]
    )  # fmt: skip


def leaders(value: dict[PartitionKey, PartitionLeader], _: Any, graph: Graph) -> Structure:
    return tuple([graph.of(one) for _, one in sorted(value.items(), key=itemgetter(0))])


def followers(value: dict[PartitionKey, PartitionFollower], _: Any, graph: Graph) -> Structure:
    history = graph.context.history
    return tuple(
        [
            (topic_number(key[0]), key[1], history.leader_epoch(key, one.leader_epoch), graph.of(one))
            for key, one in sorted(value.items(), key=itemgetter(0))
        ]
    )


BROKER: Fields = {
    "settings": plain,
    "lifecycle": plain,
    "image": By(BROKER_IMAGE),
    "applied_offset": SHOWN,
    "logs": logs,
    "leaders": leaders,
    "followers": followers,
}


def until_registered(value: Any, owner: Lifecycle, graph: Graph) -> Structure:
    """It is sent in registrations only."""
    return None if owner.broker_epoch is not None else Ordinal("Incarnation", value.int)


def kind_in_flight(value: Any, _: Any, graph: Graph) -> Structure:
    """Its contents are in the message that is under way, and its answer is told apart by nothing else."""
    return None if value is None else type(value).__name__


LIFECYCLE: Fields = {
    "settings": plain,
    "incarnation_id": until_registered,
    "state": plain,
    "broker_epoch": broker_epoch,
    "wants_fence": plain,
    "in_flight": kind_in_flight,
    "failures": LeftOut("it only sets when the broker asks again"),
}


def of_own_partition(epoch: str) -> Rule:
    def of(value: int, owner: PartitionLeader, graph: Graph) -> Structure:
        found: Structure = getattr(graph.context.history, epoch)(owner.key, value)
        return found

    return of


def in_maximal_isr(value: dict[int, FollowerState], owner: PartitionLeader, graph: Graph) -> Structure:
    """The followers that hold the high watermark back. Of any other, the next fetch tells the leader all again."""
    isr = owner.maximal_isr
    return tuple([(id_, graph.of(one)) for id_, one in sorted(value.items()) if id_ in isr])


def alter_in_flight(value: AlterPartitionRequest | None, owner: PartitionLeader, graph: Graph) -> Structure:
    return value is not None and (value == owner.pending_change or request_of(graph.context.history, value))


LEADER: Fields = {
    "key": plain,
    "broker_id": plain,
    "broker_epoch": broker_epoch,
    "log": Elsewhere("the logs"),
    "leader_epoch": of_own_partition("leader_epoch"),
    "partition_epoch": of_own_partition("partition_epoch"),
    "replicas": in_order,
    "isr": in_order,
    "epoch_start_offset": plain,
    "since_ms": TIMES,
    "followers": in_maximal_isr,
    "pending_change": alter_request,
    "in_flight": alter_in_flight,
}
FOLLOWER_STATE: Fields = {
    "log_end_offset": plain,
    "broker_epoch": broker_epoch,
    "caught_up_ms": TIMES,
    "fetched_ms": TIMES,
    "leader_end_offset": LeftOut("it only sets since when a follower lags"),
}


def answer(value: Answer | None, owner: ProcessHost, graph: Graph) -> Structure:
    return None if value is None else response_to(value.request, value.response, graph)


def isr_answers(value: dict[PartitionKey, Answer], owner: ProcessHost, graph: Graph) -> Structure:
    return tuple(
        (topic_number(key[0]), key[1], answer(one, owner, graph))
        for key, one in sorted(value.items(), key=itemgetter(0))
    )


PROCESS_HOST: Fields = {
    "core": plain,
    "disk": logs,
    "controller": SHOWN,
    "answer": answer,
    "isr_answers": isr_answers,
    "timers": broker_timers,
    "now_ms": TIMES,
    "stand_in": SHOWN,
    "reaches": SHOWN,
}


WAITING: Fields = {
    "offset": Elsewhere("the key of the cluster, as batches of the log"),
    "call": Elsewhere("the key of the cluster, as the one who waits"),
    "response": Elsewhere("the key of the cluster, as the answer to a request"),
}

RULES: Rules = {
    Remembering: {"memory": LeftOut("what was made of it before")},
    ControllerHost: CONTROLLER_HOST,
    ProcessHost: PROCESS_HOST,
    Controller: CONTROLLER,
    Sessions: {"timeout_ms": plain, "of_broker": in_sight(sessions)},
    Session: SESSION,
    Waiting: WAITING,
    CopyOnWriteDict: COPY_ON_WRITE_DICT,
    Image: IMAGE,
    Registration: REGISTRATION,
    Partition: PARTITION,
    Broker: BROKER,
    Lifecycle: LIFECYCLE,
    PartitionLeader: LEADER,
    FollowerState: FOLLOWER_STATE,
    PartitionFollower: {"leader": plain, "leader_epoch": Elsewhere("the broker, with the partition")},
    InMemoryReplicaLog: {"entries": plain, "high_watermark": plain},
    LogEntry: {"leader_epoch": Elsewhere("the logs, with the partition"), "value": plain},
    BrokerRegistrationResponse: {"error": plain, "broker_epoch": broker_epoch},
    BrokerHeartbeatResponse: HEARTBEAT_RESPONSE,
    AlterPartitionResponse: ALTER_PARTITION_RESPONSE,
}
