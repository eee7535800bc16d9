"""The brokers as a controller knows them: what is registered in ZooKeeper, what it goes by, and their leases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from impl.heartbeat.control_requests import Endpoint, TopicPartition
from impl.heartbeat.messages import BrokerState
from impl.heartbeat.scripts import Context, Script
from impl.heartbeat.znodes import BROKER_IDS, BrokerInfo, id_path, read_broker
from impl.zookeeper import Absent, Children, Exists, Found, GetChildren, GetData
from impl.zookeeper.znodes import ZnodeError, read_id


@dataclass(frozen=True, slots=True)
class Registration:
    """`/brokers/ids/ID` as it was read last."""

    czxid: int
    info: BrokerInfo


@dataclass(slots=True)
class Known:
    """A broker as the controller has it.

    incarnation: that it goes by. contact_ms: when its last heartbeat was processed; None: in this term none was.
    is_new: it is yet to be sent all that concerns it. to_take, to_show: the partitions of which it is to be sent
    LeaderAndIsr, and UpdateMetadata; is_shown: it knows the live brokers. sent: what is not acknowledged, by number;
    True for LeaderAndIsr.
    """

    incarnation: int
    state: BrokerState
    is_legacy: bool = False
    contact_ms: int | None = None
    is_new: bool = True
    to_take: set[TopicPartition] = field(default_factory=set)
    to_show: set[TopicPartition] = field(default_factory=set)
    is_shown: bool = True
    sent: dict[int, bool] = field(default_factory=dict)

    @property
    def is_owed(self) -> bool:
        """It has yet to acknowledge who leads its replicas."""
        return self.is_new or bool(self.to_take) or any(self.sent.values())

    def begin_anew(self, incarnation: int) -> None:
        """Go by another incarnation, which was sent nothing, and is no legacy one as far as is known."""
        self.incarnation, self.contact_ms, self.is_new, self.is_shown = incarnation, None, True, True
        self.is_legacy = False
        self.to_take.clear()
        self.to_show.clear()
        self.sent.clear()

    @property
    def is_counted(self) -> bool:
        """It is in the metadata, and may be in ISRs."""
        return self.state >= BrokerState.ACTIVE


class Registry:
    """The brokers of one controller. timeout_ms: of a lease.

    registered: by id, kept by watches. stale: ids whose watch has fired since they were read.
    """

    def __init__(self, context: Context, timeout_ms: int) -> None:
        self.context = context
        self.timeout_ms = timeout_ms
        self.registered = dict[int, Registration]()
        self.stale = set[int]()
        self.is_list_stale = True
        self.brokers = dict[int, Known]()
        self.stopping = set[int]()
        """Those of them that are STOPPING."""
        self.unsent = set[int]()
        """Those that there may be something to send to. Who has yet to acknowledge something is not one of them."""
        self.endpoints = dict[tuple[int, int], Endpoint]()
        """Where brokers listen, by id and incarnation: what was read once stays true, in later terms, too."""
        self.leases = dict[int, int]()
        """When each lease is over; the first one is over first, since all of them last for the same time."""

    def forget(self) -> None:
        """A term is over: all of it was soft."""
        self.registered.clear()
        self.brokers.clear()
        self.stopping.clear()
        self.unsent.clear()
        self.leases.clear()
        self.lose_watches()

    def lose_watches(self) -> None:
        """Everything has to be read again."""
        self.stale = set(self.registered)
        self.is_list_stale = True

    def hear(self, path: str) -> bool:
        """A watch fired. Returns whether it was one of the registry's."""
        if path == BROKER_IDS:
            self.is_list_stale = True
            return True
        broker = _id_of(path)
        if broker is not None:
            self.stale.add(broker)
        return broker is not None

    @property
    def is_current(self) -> bool:
        """No watch has fired since everything was read."""
        return not self.is_list_stale and not self.stale

    def endpoint(self, broker: int) -> Endpoint | None:
        """Where the incarnation that the controller goes by listens, if it was ever read."""
        known = self.brokers.get(broker)
        return None if known is None else self.endpoints.get((broker, known.incarnation))

    def counted(self) -> Iterator[int]:
        """The brokers of the metadata, by id."""
        return (broker for broker in sorted(self.brokers) if self.brokers[broker].is_counted)

    def has_a_lease(self, known: Known) -> bool:
        """It is in, and not only for as long as its znode is there."""
        return known.is_counted and not known.is_legacy

    # Incarnations and states.

    def adopt(self, broker: int, incarnation: int, *, fences: bool, cause: str) -> tuple[Known, bool]:
        """Go by a higher incarnation. Returns the broker, and whether its state is another one now.

        fences: the lower one fails first (KIP-380), and what follows from that is written before the higher one counts.
        """
        known = self.brokers.get(broker)
        self.unsent.add(broker)
        if known is None:
            known = self.brokers[broker] = Known(incarnation, BrokerState.INACTIVE)
            self.context.log("new broker", {"broker": broker, "incarnation": incarnation, "cause": cause})
            return known, False
        facts = {"broker": broker, "incarnation": incarnation, "former": known.incarnation, "cause": cause}
        self.context.log("bounce", facts)
        if fences and known.is_counted:
            return known, self.set_state(broker, BrokerState.INACTIVE, cause="bounce")
        self.endpoints.pop((broker, known.incarnation), None)
        known.begin_anew(incarnation)
        return known, False

    def set_state(self, broker: int, state: BrokerState, *, cause: str) -> bool:
        """Returns whether it is another one now."""
        known = self.brokers[broker]
        if known.state is state:
            return False
        facts = {"broker": broker, "incarnation": known.incarnation, "from": known.state.name, "to": state.name}
        self.context.log("broker state", {**facts, "cause": cause}, is_warning=cause not in ("heartbeat", "registered"))
        self.context.did("broker_state", **facts, cause=cause)
        known.state = state
        if state is BrokerState.STOPPING:
            self.stopping.add(broker)
        else:
            self.stopping.discard(broker)
        if not known.is_counted:
            self.leases.pop(broker, None)
        return True

    # Leases.

    def renew(self, broker: int) -> None:
        """A heartbeat was processed, or a new term grants a lease."""
        self.leases.pop(broker, None)
        self.leases[broker] = self.context.now_ms + self.timeout_ms

    def lapsed(self) -> list[int]:
        """The brokers whose lease is over. They have none from then on."""
        found = []
        for broker, end_ms in self.leases.items():
            if end_ms > self.context.now_ms:
                break
            found.append(broker)
        for broker in found:
            del self.leases[broker]
        return found

    def next_end_ms(self) -> int | None:
        """When the next lease is over."""
        return next(iter(self.leases.values()), None)

    # Reading.

    def refresh(self) -> Script[set[int]]:
        """Read what is stale, with watches. Returns the ids whose registration is another one now, or gone."""
        changed = set[int]()
        while not self.is_current:
            stale, self.stale = self.stale, set()
            if self.is_list_stale:
                self.is_list_stale = False
                stale |= yield from self._list()
            if stale:
                changed |= yield from self._read(sorted(stale))
        return changed

    def _list(self) -> Script[set[int]]:
        """Read the ids that are registered. Returns those that are new or gone."""
        (result,) = yield (GetChildren(BROKER_IDS, watch=True),)
        if not isinstance(result.outcome, Children):
            self.context.log("no list of brokers", {"path": BROKER_IDS, "what": str(result.outcome)}, is_warning=True)
            return set()
        ids = {broker for name in result.outcome.names if (broker := _id_of(f"{BROKER_IDS}/{name}")) is not None}
        return ids ^ set(self.registered)

    def _read(self, brokers: list[int]) -> Script[set[int]]:
        results = yield tuple(GetData(id_path(broker), watch=True) for broker in brokers)
        before = {broker: self.registered.get(broker) for broker in brokers}
        missing = list[int]()
        for broker, result in zip(brokers, results, strict=True):
            self.registered.pop(broker, None)
            if isinstance(result.outcome, Found):
                self._found(broker, result.outcome)
            elif isinstance(result.outcome, Absent):
                missing.append(broker)
        if missing:  # one that is created between the two reads is no change of the list, if the list had it before
            again = yield tuple(Exists(id_path(broker), watch=True) for broker in missing)
            self.stale |= {
                broker for broker, result in zip(missing, again, strict=True) if isinstance(result.outcome, Found)
            }
        return {broker for broker in brokers if self.registered.get(broker) != before[broker]}

    def _found(self, broker: int, found: Found) -> None:
        try:
            info = read_broker(id_path(broker), found.data or b"")
        except ZnodeError as error:
            self.context.log("garbage in a znode", {"what": str(error)}, is_warning=True)
            return
        self.registered[broker] = Registration(found.stat.czxid, info)
        self.endpoints[broker, found.stat.czxid] = Endpoint(broker, info.host, info.port)


def _id_of(path: str) -> int | None:
    name = path.removeprefix(f"{BROKER_IDS}/")
    return None if name == path else read_id(name)
