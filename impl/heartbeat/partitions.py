"""The partitions as a controller knows them, what their state should be by the states of the brokers, and its writes.

Each change by the controller raises leader epoch and version (Controller-Side Heartbeat Timeout; Broker State).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from impl.heartbeat.control_requests import NO_LEADER, PartitionState, TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.messages import BrokerState
from impl.heartbeat.registry import Registry
from impl.heartbeat.scripts import Context, Script
from impl.heartbeat.znodes import (
    CONTROLLER_EPOCH,
    TOPICS,
    LeaderAndIsr,
    partitions_path,
    read_assignment,
    read_state,
    state_bytes,
    state_path,
    topic_path,
)
from impl.runtime.topics import LEGAL_NAME
from impl.zookeeper import (
    Check,
    Children,
    Committed,
    Create,
    ErrorCode,
    Failed,
    Found,
    GetChildren,
    GetData,
    Multi,
    SetData,
)
from impl.zookeeper.election import Office
from impl.zookeeper.znodes import ZnodeError

_WRITES_PER_MULTI = 500
_READS_AT_ONCE = 500


@dataclass(slots=True)
class Partition:
    """A partition and its state as it was read or written last. state: None where it has none yet."""

    replicas: tuple[int, ...]
    state: LeaderAndIsr | None
    version: int


@dataclass(frozen=True, slots=True)
class Wrote:
    """The outcome of writes: the partitions whose state is written, and those that had another version.

    is_deposed: the epoch says that another controller was elected; nothing of the rest is written.
    """

    done: tuple[TopicPartition, ...] = ()
    conflicts: tuple[TopicPartition, ...] = ()
    is_deposed: bool = False


class Partitions:
    """The partitions of one controller."""

    def __init__(self, context: Context, design: Design, registry: Registry) -> None:
        self.context = context
        self.design = design
        self.registry = registry
        self.known = dict[TopicPartition, Partition]()
        self.of_replica = dict[int, set[TopicPartition]]()
        self.leaderless = set[TopicPartition]()
        self.former = dict[TopicPartition, set[int]]()
        """The members that the state names by a former incarnation: that one has failed."""
        self.moved = set[TopicPartition]()
        """Whose state was read, and has another leader epoch than was known: brokers are yet to be sent it."""
        self.is_list_stale = True

    def forget(self) -> None:
        self.known.clear()
        self.of_replica.clear()
        self.former.clear()
        self.leaderless.clear()
        self.moved.clear()
        self.is_list_stale = True

    def shown(self, of: TopicPartition) -> PartitionState | None:
        """A partition as brokers are told of it."""
        partition = self.known[of]
        state = partition.state
        if state is None:
            return None
        return PartitionState(
            of,
            state.controller_epoch,
            state.leader,
            state.leader_epoch,
            state.isr,
            partition.version,
            partition.replicas,
        )

    def led_by(self, broker: int) -> list[TopicPartition]:
        return [of for of in self.of_broker(broker) if self._leader(of) == broker]

    def of_broker(self, broker: int) -> list[TopicPartition]:
        """The partitions that have a replica there, sorted."""
        return sorted(self.of_replica.get(broker, ()))

    def _leader(self, of: TopicPartition) -> int:
        state = self.known[of].state
        return NO_LEADER if state is None else state.leader

    def named(self) -> dict[int, int]:
        """The incarnation of each broker, as states name it: the highest, where several do."""
        found = dict[int, int]()
        for one in self.known.values():
            for broker, incarnation in () if one.state is None else one.state.named().items():
                found[broker] = max(found.get(broker, 0), incarnation)
        return found

    # Decisions.

    def wanted(self, of: TopicPartition, *, moves_from: Collection[int] = ()) -> LeaderAndIsr | None:
        """The state that the brokers' states ask for; None: the one that is there.

        moves_from: brokers that are to lead nothing any more, where another can.
        """
        partition = self.known[of]
        state = partition.state
        if state is None:
            return self._first(partition)
        former = self.former.get(of, ())
        isr = tuple(one for one in state.isr if self._is_counted(one) and one not in former) or state.isr
        leader = state.leader
        if leader == NO_LEADER and self._may_be_led(partition):
            pass  # some broker may lead on until it has acknowledged that it does not
        elif leader not in state.isr or not self._is_counted(leader) or leader in former:
            leader = self._elected(partition, isr)
        elif leader in moves_from:
            leader = self._handed_over(partition, [member for member in state.isr if member not in moves_from], leader)
        if leader == state.leader and isr == state.isr and not former and self._names_as_it_should(state):
            return None
        return self.naming(LeaderAndIsr(leader, state.leader_epoch + 1, isr))

    def _names_as_it_should(self, state: LeaderAndIsr) -> bool:
        """Who is named is in. A leader that a legacy leader's write does not name is to lead anew."""
        named = state.named()
        is_led = state.leader == NO_LEADER or state.leader in named or not self.design.leader_incarnation
        return is_led and all(self._is_counted(member) for member in named)

    def naming(self, state: LeaderAndIsr) -> LeaderAndIsr:
        """The same state, with the incarnations that it is to name: a last member that is out is not named."""
        incarnations = tuple(self._incarnation(member, state.leader) for member in state.isr)
        return replace(state, incarnations=incarnations if any(incarnations) else ())

    def _first(self, partition: Partition) -> LeaderAndIsr | None:
        """The first state of a partition, once a replica is active."""
        active = tuple(member for member in partition.replicas if self._state(member) is BrokerState.ACTIVE)
        return self.naming(LeaderAndIsr(active[0], 0, active)) if active else None

    def _elected(self, partition: Partition, isr: Collection[int]) -> int:
        """The first active member in replica order, or none."""
        return next(
            (one for one in partition.replicas if one in isr and self._state(one) is BrokerState.ACTIVE), NO_LEADER
        )

    def _handed_over(self, partition: Partition, isr: Collection[int], leader: int) -> int:
        """Who is to lead in the place of a leader that is stopping."""
        successor = self._elected(partition, isr)
        if successor == NO_LEADER:
            return leader
        return NO_LEADER if self.design.handover_acknowledged else successor

    def _may_be_led(self, partition: Partition) -> bool:
        brokers = (self.registry.brokers.get(replica) for replica in partition.replicas)
        return self.design.handover_acknowledged and any(one and one.is_counted and one.is_owed for one in brokers)

    def leaderless_of(self, broker: int) -> list[TopicPartition]:
        """The partitions that nobody leads and that have a replica there."""
        return [of for of in self.leaderless if broker in self.known[of].replicas]

    def _incarnation(self, member: int, leader: int) -> int:
        """The incarnation that a state names with a member; 0: none."""
        known = self.registry.brokers.get(member)
        names = self.design.leader_incarnation if member == leader else self.design.follower_incarnations
        return known.incarnation if known is not None and known.is_counted and names else 0

    def _state(self, broker: int) -> BrokerState | None:
        known = self.registry.brokers.get(broker)
        return None if known is None else known.state

    def _is_counted(self, broker: int) -> bool:
        known = self.registry.brokers.get(broker)
        return known is not None and known.is_counted

    # Reading.

    def load(self) -> Script[list[TopicPartition]]:
        """Read the topics, with a watch, and of those that are new their partitions. Returns these."""
        self.is_list_stale = False
        (listed,) = yield (GetChildren(TOPICS, watch=True),)
        names = listed.outcome.names if isinstance(listed.outcome, Children) else ()
        there = {of.topic for of in self.known}
        found = list[TopicPartition]()
        for topic in (name for name in names if name not in there):
            (result,) = yield (GetData(topic_path(topic)),)
            if isinstance(result.outcome, Found):
                found += self._assigned(topic, result.outcome.data or b"")
        yield from self.read(found)
        yield from self._prepare([of for of in found if self.known[of].state is None])
        return found

    def _prepare(self, partitions: list[TopicPartition]) -> Script[None]:
        """Create the parents of the states that are yet to be written; some may be there."""
        for topic in {of.topic: None for of in partitions}:
            yield (Create(partitions_path(topic)),)
        rest = [Create(f"{partitions_path(of.topic)}/{of.partition}") for of in partitions]
        while rest:
            some, rest = rest[:_READS_AT_ONCE], rest[_READS_AT_ONCE:]
            yield tuple(some)

    def _assigned(self, topic: str, data: bytes) -> Iterator[TopicPartition]:
        if not LEGAL_NAME.match(topic):
            self.context.log("not the name of a topic", {"path": topic_path(topic)}, is_warning=True)
            return
        try:
            assignment = read_assignment(topic_path(topic), data)
        except ZnodeError as error:
            self.context.log("garbage in a znode", {"what": str(error)}, is_warning=True)
            return
        for partition, replicas in sorted(assignment.items()):
            of = TopicPartition(topic, partition)
            self.known[of] = Partition(replicas, None, -1)
            for broker in replicas:
                self.of_replica.setdefault(broker, set()).add(of)
            yield of

    def read(self, partitions: Iterable[TopicPartition]) -> Script[None]:
        """Read their states."""
        rest = list(partitions)
        while rest:
            some, rest = rest[:_READS_AT_ONCE], rest[_READS_AT_ONCE:]
            results = yield tuple(GetData(state_path(of)) for of in some)
            for of, result in zip(some, results, strict=True):
                if isinstance(result.outcome, Found):
                    self._read(of, result.outcome)

    def _read(self, of: TopicPartition, found: Found) -> None:
        try:
            state = read_state(state_path(of), found.data or b"")
        except ZnodeError as error:
            self.context.log("garbage in a znode", {"what": str(error)}, is_warning=True)
            return
        known = self.known[of].state
        if known is None or known.leader_epoch != state.leader_epoch:
            self.moved.add(of)
            self.former.pop(of, None)
        self._is_now(of, state, found.stat.version)

    def _is_now(self, of: TopicPartition, state: LeaderAndIsr, version: int) -> None:
        self.known[of].state, self.known[of].version = state, version
        if state.leader == NO_LEADER:
            self.leaderless.add(of)
        else:
            self.leaderless.discard(of)

    # Writing.

    def write(self, office: Office, states: Mapping[TopicPartition, LeaderAndIsr]) -> Script[Wrote]:
        """Write states, each if its version is the one that is known."""
        rest = [(of, replace(state, controller_epoch=office.epoch)) for of, state in states.items()]
        done, conflicts = list[TopicPartition](), list[TopicPartition]()
        while rest:
            some, rest = rest[:_WRITES_PER_MULTI], rest[_WRITES_PER_MULTI:]
            while some:
                failed_at = yield from self._write(office, some)
                if failed_at is None:
                    done += [of for of, _ in some]
                    break
                if failed_at < 0:
                    return Wrote(tuple(done), tuple(conflicts), is_deposed=True)
                conflicts.append(some.pop(failed_at)[0])
        return Wrote(tuple(done), tuple(conflicts))

    def _write(self, office: Office, states: list[tuple[TopicPartition, LeaderAndIsr]]) -> Script[int | None]:
        """One multi. Returns the place of what was refused, -1 for the epoch; None: all is written."""
        checks = (Check(CONTROLLER_EPOCH, office.epoch_version),) if self.design.zk_writes_fenced else ()
        writes = [self._put(of, state) for of, state in states]
        (result,) = yield (Multi((*checks, *writes)),)
        if isinstance(result.outcome, Committed):
            for of, state in states:
                self._is_now(of, state, self.known[of].version + 1)
                self.former.pop(of, None)
            return None
        refused = result.outcome if isinstance(result.outcome, Failed) else Failed(ErrorCode.OTHER)
        return max(-1, (refused.at or 0) - len(checks))

    def _put(self, of: TopicPartition, state: LeaderAndIsr) -> Create | SetData:
        partition = self.known[of]
        if partition.state is None:
            return Create(state_path(of), state_bytes(state))
        return SetData(state_path(of), state_bytes(state), partition.version)
