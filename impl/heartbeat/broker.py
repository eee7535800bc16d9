"""A broker: its registration, heartbeats, fence and replicas, without its I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from impl.heartbeat.control_requests import (
    ANY_INCARNATION,
    Endpoint,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionState,
    TopicPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Ask, Effects, Exit, Produce, ResponseOfController, Timer
from impl.heartbeat.fence import Fence
from impl.heartbeat.leader import Leader
from impl.heartbeat.legacy import LegacyIsrs
from impl.heartbeat.messages import (
    UNKNOWN,
    BrokerState,
    ErrorCode,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from impl.heartbeat.registration import Registration
from impl.heartbeat.replica import OpenLog, Replica, in_memory
from impl.heartbeat.replica_fetch import Fetched, FetchPosition, ReplicaFetchRequest, ReplicaFetchResponse
from impl.heartbeat.scripts import LANES, Context, Script, Scripts
from impl.heartbeat.znodes import HEARTBEAT_VERSION, LEGACY_VERSION, BrokerInfo
from impl.zookeeper import Connected, Disconnected, Event, Expired, Result

BROKER_LANE = 2


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The numbers of a broker, as in impl.heartbeat.settings.

    endpoint: host and port that it listens at. is_legacy: of the former protocol: it sends no heartbeats, is never
    fenced, and writes ISRs to ZooKeeper itself.
    """

    broker: int
    endpoint: tuple[str, int] = ("127.0.0.1", 0)
    is_legacy: bool = False
    interval_ms: int = 2_000
    timeout_ms: int = 6_000
    session_timeout_ms: int = 6_000
    replica_lag_ms: int = 10_000
    min_insync_replicas: int = 1


class Work(Enum):
    """The scripts of a broker."""

    REGISTER = "create the znode of its id"
    TAKE_INCARNATION = "go by the czxid of that znode"
    CHANGE_ISR = "write the ISRs that it wants, as a leader of the former protocol"


class Broker:
    """A broker process. open_log: opens the log of a replica."""

    def __init__(self, settings: BrokerSettings, design: Design, open_log: OpenLog = in_memory) -> None:
        self.settings = settings
        self.design = design
        self.open_log = open_log
        self.sends_heartbeats = design.heartbeats and not settings.is_legacy
        self.context = Context()
        self.scripts: Scripts[Work] = Scripts(BROKER_LANE, self.context)
        self.is_connected = False
        broker = settings.broker
        info = BrokerInfo(*settings.endpoint, LEGACY_VERSION if settings.is_legacy else HEARTBEAT_VERSION)
        self.registration = Registration(broker, self.context, design, info, settings.session_timeout_ms)
        self.fence = Fence(broker, self.context, design, settings.timeout_ms, is_fenced=self.sends_heartbeats)
        self.leader = Leader(self.context, design, settings.replica_lag_ms, settings.min_insync_replicas)
        self.legacy = LegacyIsrs(self.context, design, self.leader)
        self.target = BrokerState.ACTIVE
        self.controller: int | None = None
        self.controller_epoch = UNKNOWN
        """The highest that it was sent."""
        self.live = tuple[Endpoint, ...]()
        self.shown = dict[TopicPartition, PartitionState]()
        """The metadata that it answers clients with."""
        self.number = 0
        self.sent_ms = dict[int, int]()
        """When each heartbeat was sent that has no answer yet."""

    @property
    def replicas(self) -> dict[TopicPartition, Replica]:
        return self.leader.replicas

    @property
    def is_stopping(self) -> bool:
        return self.target is BrokerState.STOPPING

    def serves(self, of: TopicPartition) -> bool:
        """It accepts requests as the leader of this partition."""
        replica = self.replicas.get(of)
        return replica is not None and replica.leads and not self.fence.is_fenced

    # ZooKeeper and timers.

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        self._begin(now_ms)
        match event:
            case Result(id=id) if id % LANES == BROKER_LANE:
                self.scripts.take(event)
            case Connected(session=session, is_new=is_new):
                self.is_connected = True
                self.registration.session = session
                if is_new and self.design.reregistration_fences and self.sends_heartbeats:
                    self.fence.close("a new session")
                self.scripts.add(Work.REGISTER)
            case Disconnected() | Expired():
                self.is_connected = False
                self.scripts.drop()
        return self.context.taken()

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """A timer that was set is due."""
        self._begin(now_ms)
        match timer:
            case Timer.REGISTER:
                self.scripts.add(Work.REGISTER)
            case Timer.HEARTBEAT:
                self._send_heartbeat()
            case Timer.ISR:
                self._look_at_isrs()
        return self.context.taken()

    def advance(self, now_ms: int, item: Work | None = None) -> Effects:
        """Begin with the next of the queue, or with this item, if nothing is under way and ZooKeeper can be reached."""
        self._begin(now_ms)
        if self.scripts.running is None and self.is_connected and (item is not None or self.scripts.queue):
            item = item or self.scripts.queue[0]
            if item in self.scripts.queue:
                self.scripts.queue.remove(item)
            self.scripts.begin(self._script(item))
        return self.context.taken()

    @property
    def can_advance(self) -> bool:
        return self.scripts.running is None and self.is_connected and bool(self.scripts.queue)

    def check_fence(self, now_ms: int) -> None:
        """Take notice of the time before something is read past the loop."""
        self._begin(now_ms)

    def _begin(self, now_ms: int) -> None:
        """Before anything else: the lease may be over, by a timer or by a pause that it did not notice."""
        self.context.now_ms = now_ms
        if self.sends_heartbeats:
            self.fence.check()

    def _script(self, item: Work) -> Script[None]:
        match item:
            case Work.REGISTER:
                if (yield from self.registration.register()):
                    self._registered()
            case Work.TAKE_INCARNATION:
                yield from self.registration.take_incarnation()
                self._identified()
            case Work.CHANGE_ISR:
                yield from self.legacy.write()

    def _registered(self) -> None:
        """It has a new incarnation, with the memory of the former one."""
        if self.design.reregistration_fences and self.sends_heartbeats:
            self.fence.close("a new incarnation")
        self.scripts.add(Work.TAKE_INCARNATION)

    def _identified(self) -> None:
        self.context.set_timer(Timer.ISR, self.context.now_ms + self._isr_interval_ms)
        if self.sends_heartbeats:
            self.context.set_timer(Timer.HEARTBEAT, self.context.now_ms)

    # Heartbeats.

    def on_controller(self, broker: int | None) -> None:
        """/controller was read, and names this one."""
        self.controller = broker

    def stop(self, now_ms: int) -> Effects:
        """SIGTERM: its target is STOPPING from now on."""
        self._begin(now_ms)
        if not self.is_stopping:
            self.target = BrokerState.STOPPING
            self.context.log("stopping", {"broker": self.settings.broker})
            if self.sends_heartbeats:
                self.context.set_timer(Timer.HEARTBEAT, now_ms)
        return self.context.taken()

    def _send_heartbeat(self) -> None:
        """Send one now, and the next after an interval."""
        incarnation = self.registration.incarnation
        if not self.sends_heartbeats or not incarnation:
            return
        self.number += 1
        self.sent_ms[self.number] = self.context.now_ms
        request = MetadataHeartbeatRequest(self.settings.broker, incarnation, self.target, self.controller_epoch)
        self.context.effects.append(Ask(self.number, self.controller, request))
        self.context.set_timer(Timer.HEARTBEAT, self.context.now_ms + self.settings.interval_ms)

    def on_response(self, number: int, response: ResponseOfController, now_ms: int) -> Effects:
        """The controller's answer to the request with this number."""
        self._begin(now_ms)
        match response:
            case MetadataHeartbeatResponse():
                sent_ms = self.sent_ms.pop(number, None)
                if sent_ms is not None:
                    self._take_reply(sent_ms, response)
            case IsrChangeResponse():
                self.leader.answered(number, response)
        return self.context.taken()

    def on_failure(self, number: int, now_ms: int) -> Effects:
        """No answer will come to the request with this number."""
        self._begin(now_ms)
        self.sent_ms.pop(number, None)
        self.leader.given_up(number)
        return self.context.taken()

    def _take_reply(self, sent_ms: int, response: MetadataHeartbeatResponse) -> None:
        if self.design.controller_epoch_in_heartbeat and response.controller_epoch < self.controller_epoch:
            return  # of a former controller
        mine = self.settings.broker, self.registration.incarnation
        if self.design.reply_names_incarnation and (response.broker_id, response.incarnation_id) != mine:
            return
        if response.error_code != ErrorCode.NONE or response.current_state not in set(BrokerState):
            facts = {"broker": mine[0], "incarnation": mine[1], "code": response.error_code}
            self.context.log("heartbeat refused", facts, is_warning=True)
            return  # no answer: the lease runs on, and is not renewed
        if self.design.controller_epoch_in_heartbeat:
            self.controller_epoch = response.controller_epoch
        self.fence.answered(BrokerState(response.current_state), sent_ms)
        exits = self.is_stopping and response.current_state == BrokerState.INACTIVE and self.design.exit_signal
        if exits:
            self.context.did("exit", broker=mine[0], incarnation=mine[1])
            self.context.effects.append(Exit())

    # Control requests.

    def on_leader_and_isr(self, request: LeaderAndIsrRequest, now_ms: int) -> tuple[LeaderAndIsrResponse, Effects]:
        """A controller says who leads the replicas of this broker."""
        self._begin(now_ms)
        refused = self._refuses(request)
        if refused is not None:
            return LeaderAndIsrResponse(refused), self.context.taken()
        for state in request.partitions:
            replica = self.replicas.get(state.partition)
            if replica is None:
                replica = Replica(state.partition, self.settings.broker, self.open_log(state.partition))
                self.replicas[state.partition] = replica
            failed = replica.take(state, now_ms)
            if failed is not None:
                self._took(state)
            for call in failed or ():
                self.context.effects.append(Produce(call, ErrorCode.NOT_LEADER_FOR_PARTITION))
        if self.sends_heartbeats and self.fence.is_fenced:
            self.context.set_timer(Timer.HEARTBEAT, now_ms)  # it may be unfenced now that it knows who leads
        results = tuple((state.partition, int(ErrorCode.NONE)) for state in request.partitions)
        return LeaderAndIsrResponse(ErrorCode.NONE, results), self.context.taken()

    def on_update_metadata(self, request: UpdateMetadataRequest, now_ms: int) -> tuple[UpdateMetadataResponse, Effects]:
        """A controller says what clients are to be shown."""
        self._begin(now_ms)
        refused = self._refuses(request)
        if refused is not None:
            return UpdateMetadataResponse(refused), self.context.taken()
        self.live = request.live_brokers
        for state in request.partitions:
            self.shown[state.partition] = state
        return UpdateMetadataResponse(ErrorCode.NONE), self.context.taken()

    def _refuses(self, request: LeaderAndIsrRequest | UpdateMetadataRequest) -> ErrorCode | None:
        """Refuse what is for another incarnation, or of a former controller; else know the controller by it."""
        controller, epoch = request.controller_id, request.controller_epoch
        facts = {"broker": self.settings.broker, "controller": controller, "epoch": epoch}
        if request.incarnation not in (ANY_INCARNATION, self.registration.owned):
            others = {"incarnation": request.incarnation, "own": self.registration.owned}
            self.context.log("for another incarnation", {**facts, **others}, is_warning=True)
            return ErrorCode.INVALID_INCARNATION_ID
        if epoch < self.controller_epoch:
            self.context.log("a former controller", {**facts, "seen": self.controller_epoch}, is_warning=True)
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller, self.controller_epoch = controller, epoch
        return None

    def _took(self, state: PartitionState) -> None:
        leads = state.leader == self.settings.broker
        facts = {
            "broker": self.settings.broker, "incarnation": self.registration.incarnation,
            "partition": str(state.partition), "leader": state.leader, "leader_epoch": state.leader_epoch,
            "isr": list(state.isr), "version": state.version,
        }  # fmt: skip
        self.context.log("leads" if leads else "follows", facts)
        self.context.did("take_control_request", **facts)

    # Records.

    def on_produce(self, call: int, of: TopicPartition, count: int, data: bytes, acks: int, now_ms: int) -> Effects:
        """A batch of so many records; acks: -1 for all of the ISR, 1 for the leader alone, 0 for no answer."""
        self._begin(now_ms)
        if not self.serves(of):
            self.context.effects.append(Produce(call, ErrorCode.NOT_LEADER_FOR_PARTITION))
        else:
            self.append(call, of, count, data, acks)
        return self.context.taken()

    def append(self, call: int, of: TopicPartition, count: int, data: bytes, acks: int = -1) -> None:
        """Append what was accepted."""
        replica = self.replicas[of]
        if acks == -1 and len(replica.isr) < self.settings.min_insync_replicas:
            self.context.effects.append(Produce(call, ErrorCode.NOT_ENOUGH_REPLICAS))
            return
        offset = replica.append(call, count, data)
        if acks != -1:
            replica.in_hand.pop()
            self.context.effects.append(Produce(call, ErrorCode.NONE, offset))

    def on_replica_fetch(self, request: ReplicaFetchRequest, now_ms: int) -> tuple[ReplicaFetchResponse, Effects]:
        """A follower fetches. A leader that is fenced accepts no fetch."""
        self._begin(now_ms)
        fetched = tuple(self._serve(request, position) for position in request.positions)
        if any(self.replicas[one.of].caught_up() for one in fetched if one.of in self.replicas):
            self.context.set_timer(Timer.ISR, now_ms)
        return ReplicaFetchResponse(fetched), self.context.taken()

    def _serve(self, request: ReplicaFetchRequest, position: FetchPosition) -> Fetched:
        replica = self.replicas.get(position.of)
        if replica is None:
            return Fetched(position.of, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self.fence.is_fenced or request.broker_id not in replica.replicas or request.incarnation_id <= 0:
            return Fetched(position.of, ErrorCode.NOT_LEADER_FOR_PARTITION)
        if self.design.fetch_names_incarnation and request.incarnation_id < replica.seen(request.broker_id).incarnation:
            return Fetched(position.of, ErrorCode.INVALID_INCARNATION_ID)
        return replica.serve(request.broker_id, request.incarnation_id, position, self.context.now_ms)

    def fetch_requests(self) -> dict[int, ReplicaFetchRequest]:
        """The fetch to send next to each leader that this broker follows."""
        if self.fence.is_fenced and self.design.fetches_unfenced:
            return {}
        positions = dict[int, list[FetchPosition]]()
        for _, replica in sorted(self.replicas.items()):
            if not replica.leads and replica.leader >= 0:
                positions.setdefault(replica.leader, []).append(replica.position())
        incarnation = self.registration.incarnation
        if not incarnation:
            return {}
        return {
            leader: ReplicaFetchRequest(self.settings.broker, incarnation, tuple(those))
            for leader, those in positions.items()
        }

    def on_fetched(self, request: ReplicaFetchRequest, response: ReplicaFetchResponse, now_ms: int) -> Effects:
        """A leader's answer to a fetch."""
        self._begin(now_ms)
        for position, fetched in zip(request.positions, response.fetched, strict=False):
            if position.of in self.replicas:
                self.replicas[position.of].take_fetched(fetched, position)
        return self.context.taken()

    # ISRs.

    @property
    def _isr_interval_ms(self) -> int:
        return max(1, self.settings.replica_lag_ms // 2)

    def _look_at_isrs(self) -> None:
        self.context.set_timer(Timer.ISR, self.context.now_ms + self._isr_interval_ms)
        if self.fence.is_fenced:
            return
        self.leader.propose(self.settings.broker, self.registration.incarnation)
        if not self.settings.is_legacy:
            self._ask()
        elif self.legacy.wanted:
            self.scripts.add(Work.CHANGE_ISR)

    def ask(self, now_ms: int) -> Effects:
        """Ask the controller for the ISRs that are wanted, unless something is asked already."""
        self._begin(now_ms)
        self._ask()
        return self.context.taken()

    def _ask(self) -> None:
        request = self.leader.request(self.settings.broker, self.registration.incarnation, self.number + 1)
        if request is not None:
            self.number += 1
            self.context.effects.append(Ask(self.number, self.controller, request))

    def complete(self, now_ms: int) -> Effects:
        """Answer the produce requests that are replicated by now. To be called after every other input."""
        self._begin(now_ms)
        if not self.fence.is_fenced or not self.design.acknowledges_unfenced:
            self.context.effects += self.leader.completed()
        return self.context.taken()
