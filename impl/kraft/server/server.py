"""A controller's process: an asyncio loop around a node, its log directory and its listener.

It speaks with the other voters, and serves brokers: what they ask for themselves, and what they forward for clients.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from prometheus_client import CollectorRegistry

from impl.kraft.config.configuration import Configuration
from impl.kraft.config.values import Listener as Endpoint
from impl.kraft.controller.controller import RESPONSES
from impl.kraft.effects import Reply
from impl.kraft.effects import SetTimer as SetControllerTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import InvalidFieldError
from impl.kraft.levels import SUPPORTED
from impl.kraft.messages import ControllerRegistrationRequest
from impl.kraft.messages import Request as ControllerRequest
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Applied, Node, NodeEffect, NodeEffects
from impl.kraft.raft import Raft
from impl.kraft.raft.effects import Answer, AnswerFetch, AnswerSnapshot, LoadSnapshot, Send, SetTimer, Timer
from impl.kraft.raft.messages import FetchRequest, Request, Response
from impl.kraft.raft.roles import Leader
from impl.kraft.records import BootstrapRecord
from impl.kraft.recovered import recovered_ends, recovered_node
from impl.kraft.server import about, access_wire, admin_wire, connections, controller_wire, envelope, quorum_wire
from impl.kraft.server.access import Credentials, Doors, access_of, authorizer_of
from impl.kraft.server.authorization import Rights, rights_of
from impl.kraft.server.bootstrap import read_bootstrap_records
from impl.kraft.server.connections import Caller
from impl.kraft.server.controller_channel import LOST, ControllerChannel
from impl.kraft.server.controller_registration import ControllerRegistration
from impl.kraft.server.disk_work import DiskWork
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.features_wire import features_told
from impl.kraft.server.measures import NOBODY, Measures, Seen
from impl.kraft.server.peers import Peers
from impl.kraft.server.raw_trace import RawTrace
from impl.kraft.server.settings import (
    addresses_of,
    controller_settings,
    raft_settings,
    registered,
    snapshot_settings,
    storage_settings,
)
from impl.kraft.server.versions import API_VERSIONS, api_versions, check_served, request_kind
from impl.kraft.storage.directories import lock_directories, read_directories
from impl.kraft.storage.disk import Disk
from impl.kraft.storage.effects import AppendToLog, Persist
from impl.kraft.storage.sizes import SnapshotId
from impl.kraft.storage.storage import QuorumStorage
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop, monotonic_ms
from impl.runtime.metrics import served
from impl.runtime.properties import ConfigError
from impl.runtime.wire import RequestHeader, WireError

ALONE = {
    **admin_wire.VERSIONS, **access_wire.VERSIONS, **about.VERSIONS,
    envelope.KEY: envelope.VERSION,
}  # fmt: skip
"""By key, the version of each API of which there is one. All are flexible."""
SERVED = {**quorum_wire.SERVED, **controller_wire.SERVED, **{key: (version, version) for key, version in ALONE.items()}}
_FRAME_OVERHEAD_BYTES = 1 << 16
_MOST_BATCH_BYTES = 100 << 20
"""A fetch is answered with a batch at least, of whatever size; of more than 8 MiB where it takes a broker out of many
partitions. A follower that could not read it would never go on."""
_IN_ONE_STEP = frozenset((admin_wire.ALTER_PARTITION,))
"""APIs whose parts are decided in a step: they are many, and each is little work."""
_HANDOVER_MS, _POLL_S = 5_000, 0.02
"""How long a leader that stops waits for another one, and how often it looks."""
SCRAPE_S = 5.0
"""How long who asks for metrics waits for the loop."""

logger = logging.getLogger(__name__)


def endpoint_of(configuration: Configuration) -> Endpoint:
    """Where a controller listens for the other ones. Raises ConfigError where that is not served."""
    if not configuration.is_controller:
        raise ConfigError("process.roles: this node is no controller")
    first = configuration.controller_listener_names[0]
    return next(one for one in configuration.listeners if one.name == first)


def advertised_of(configuration: Configuration) -> tuple[Endpoint, ...]:
    """The listeners of a controller; where one says no host, the others know it by the voters'."""
    own = next(one.host for one in configuration.controller_quorum_voters if one.node_id == configuration.node_id)
    return tuple(one._replace(host=one.host or own) for one in configuration.controller_listeners)


class Hosted(Protocol):
    """A broker in the process of a controller."""

    def apply(self, applied: Applied) -> None:
        """What is committed."""

    def load(self, snapshot_id: SnapshotId) -> None:
        """A snapshot is there in place of the log."""


class ControllerServer:
    """One controller, from its start to its stop."""

    def __init__(self, configuration: Configuration, disk: Disk) -> None:
        """Raises ConfigError, StorageError, BitRotError."""
        self._configuration = configuration
        self._endpoint = endpoint_of(configuration)
        access, self._authorizer = access_of(configuration), authorizer_of(configuration)
        self._random = random.Random()
        with ExitStack() as undone:
            self._locks = lock_directories(disk, configuration.all_directories)
            for lock in self._locks:
                undone.callback(lock.close)
            identities = self.identities = read_directories(disk, configuration.all_directories, configuration.node_id)
            cluster_id = self.cluster_id = identities[configuration.metadata_log_dir].cluster_id
            self.storage = QuorumStorage.open(disk, configuration.metadata_log_dir, storage_settings(configuration))
            undone.callback(self.storage.close)
            bootstrap = self.bootstrap = read_bootstrap_records(disk, configuration.metadata_log_dir)
            self._node = _node(configuration, cluster_id, bootstrap, self.storage)
            clock_ms = self._clock_ms = clock()
            self._about = about.About(
                self._node.raft, cluster_id, configuration.controller_quorum_voters, self._endpoint.name, clock_ms
            )
            self._trace = self._begun_trace()
            undone.pop_all()
        self._loop: CoreLoop[NodeEffect] = CoreLoop(
            self._on_timer, self._carry_out, before_each=self._tell, clock_ms=clock_ms, hears_first=True
        )
        most_bytes = max(
            configuration.controller_quorum_fetch_max_bytes, configuration.controller_quorum_fetch_snapshot_max_bytes
        )
        frame_bytes = 2 * most_bytes + _FRAME_OVERHEAD_BYTES
        answer_bytes = max(most_bytes, _MOST_BATCH_BYTES) + _FRAME_OVERHEAD_BYTES
        self._peers = Peers(
            {to: address for to, address in addresses_of(configuration).items() if to != configuration.node_id},
            f"controller-{configuration.node_id}", configuration.controller_quorum_request_timeout_ms, answer_bytes,
            self._loop.begin, self._on_response, access,
        )  # fmt: skip
        self._channel = ControllerChannel(
            addresses_of(configuration), f"controller-{configuration.node_id}",
            configuration.controller_quorum_request_timeout_ms, answer_bytes,
            lambda: self._node.raft.voter.election.leader, access,
        )  # fmt: skip
        self._registration = ControllerRegistration(
            configuration.node_id, uuid4(), registered(configuration, advertised_of(configuration)),
            self._register, LOST,
        )  # fmt: skip
        credentials = Credentials(lambda: self._node.controller.committed, bootstrap)
        self._doors = Doors(
            configuration, configuration.controller_listeners, credentials, self._handle, frame_bytes, logger
        )
        self._calls: dict[int, asyncio.Future[object]] = {}
        self._last_call = 0
        self._silent: frozenset[int] = frozenset()
        """Voters that have not answered the last request."""
        self._known: tuple[int, int | None, bool] = (-1, None, False)
        self.registry = CollectorRegistry()
        self._measures = Measures(self.registry, self._seen_elsewhere)
        self._disk_work = DiskWork(self.storage, self._node, self._loop, clock_ms, self._measures.flushed, self._trace)
        self._asyncio: asyncio.AbstractEventLoop | None = None
        self._hosted: Hosted | None = None

    def _begun_trace(self) -> RawTrace | None:
        if self._configuration.trace_file is None:
            return None
        voter = self._node.raft.voter
        trace = RawTrace(Path(self._configuration.trace_file), voter.node_id, voter.settings.voters)
        trace.started(self.storage)
        return trace

    # Of a broker in the same process.

    @property
    def raft(self) -> Raft:
        return self._node.raft

    def tell(self, broker: Hosted) -> None:
        """A broker in this process is told what is committed."""
        self._hosted = broker
        self._node.tells_applied = True

    def close(self) -> None:
        """Of one that has ended, or never ran."""
        self.storage.close()
        for lock in self._locks:
            lock.close()
        if self._trace is not None:
            self._trace.close()

    def stop(self) -> None:
        """Resign, and end once another leads, or can no more; who does not lead ends at once."""
        self._loop.post(self._resign)

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where the address is taken, StorageError where the disk fails."""
        self._asyncio = asyncio.get_running_loop()
        host, metrics_port = self._endpoint.host or "0.0.0.0", self._configuration.metrics_port
        try:
            with ExitStack() as until_end:
                await self._doors.open()
                if metrics_port is not None:
                    address = until_end.enter_context(served(self.registry, host, metrics_port))
                    log(logger, "metrics", {"address": address})
                about_start = {"port": self._endpoint.port, "log_end": self.storage.log.end_offset}
                log(logger, "started", {**about_start, "clock_ahead_ms": self._clock_ms() - monotonic_ms()})
                self._loop.post(self._node.start)
                await self._loop.run()
        finally:
            await self._doors.close()
            self._peers.close()
            self._channel.close()
            await self._disk_work.ended()
            self.close()
            log(logger, "stopped")

    def _resign(self, now_ms: int) -> NodeEffects:
        voter = self._node.raft.voter
        led = isinstance(voter.role, Leader)
        effects = self._node.resign(now_ms) if led else []
        self._loop.begin(self._stop_soon(hands_over=led))
        return effects

    async def _stop_soon(self, *, hands_over: bool) -> None:
        ends_ms = monotonic_ms() + _HANDOVER_MS
        while hands_over and self._others_can_lead and monotonic_ms() < ends_ms:
            if self._node.raft.voter.election.leader not in (None, self._configuration.node_id):
                break
            await asyncio.sleep(_POLL_S)
        self._loop.stop()

    @property
    def _others_can_lead(self) -> bool:
        """A majority of the voters are others that have answered last, or were not asked yet."""
        voters = len(self._node.raft.voter.settings.voters)
        return voters - 1 - len(self._silent) > voters // 2

    # Effects.

    def _on_timer(self, timer: Any, now_ms: int) -> NodeEffects:
        match timer:
            case (Timer() as of_quorum, peer):
                return self._node.on_timer(of_quorum, now_ms, peer)
        was_active = self._node.controller.is_active
        effects = self._node.on_timer(timer, now_ms)
        match timer:
            case ("lease", broker) if was_active and any(isinstance(effect, AppendToLog) for effect in effects):
                facts = {"broker": broker, "epoch": self._node.raft.voter.epoch, "offset": self.storage.log.end_offset}
                log(logger, "lease expired", facts)
                if self._trace is not None:
                    self._trace.lapsed(broker)
                self._measures.lease_expired()
        return effects

    def _carry_out(self, effect: NodeEffect) -> None:
        if self._trace is not None:
            self._trace.before(effect, self._node.raft.voter)
        match effect:
            case Send(to=to, request=request):
                self._peers.send(to, request)
            case Answer(call=call, response=response):
                self._answer(call, response)
            case Reply(call=call, response=reply):
                self._answer(call, reply)
            case AnswerFetch(call=call, response=found, offset=offset, max_bytes=max_bytes):
                self._answer(call, replace(found, records=self.storage.log.read(offset, max_bytes)))
            case AnswerSnapshot(call=call, response=piece, snapshot_id=snapshot_id, max_bytes=max_bytes):
                found_piece = self.storage.snapshots.piece(snapshot_id, piece.position, max_bytes)
                self._answer(call, effect.with_data(*found_piece))
            case SetTimer(timer=timer, at_ms=at_ms, spread_ms=spread_ms, peer=peer):
                self._loop.set_timer((timer, peer), at_ms + self._random.randint(0, spread_ms))
            case SetControllerTimer(timer=of_controller, at_ms=at_ms):
                self._loop.set_timer(of_controller, at_ms)
            case Applied():
                assert self._hosted is not None, "who is told asks for it"
                self._hosted.apply(effect)
            case _:
                if isinstance(effect, LoadSnapshot) and self._hosted is not None:
                    self._hosted.load(effect.snapshot_id)
                start = self.storage.log.end_offset
                self._disk_work.carry_out(effect)
                if isinstance(effect, Persist) and self._trace is not None:
                    self._trace.persisted(effect.state)
                if isinstance(effect, AppendToLog):
                    leads, end = isinstance(self._node.raft.voter.role, Leader), self.storage.log.end_offset
                    self._measures.appended(len(effect.data), start, end, self._clock_ms(), leads=leads)

    def _tell(self) -> None:
        """A line where the epoch, its leader or this node's part in it is another one."""
        voter, election = self._node.raft.voter, self._node.raft.voter.election
        if self._trace is not None:
            self._trace.saw(voter)
        self._measures.quorum(election.leader, voter.node_id, voter.high_watermark, self._clock_ms())
        self._registration.look(self._node.controller.committed, self._loop.begin)
        now = (voter.epoch, election.leader, self._node.controller.is_active)
        if now != self._known:
            self._known = now
            log(logger, "quorum", {"epoch": now[0], "leader": now[1], "is_active": now[2]})

    def _seen_elsewhere(self) -> Seen:
        """By another thread than the loop's. Raises TimeoutError where the loop has no time, or ends."""
        assert self._asyncio is not None
        return asyncio.run_coroutine_threadsafe(self._seen(), self._asyncio).result(SCRAPE_S)

    async def _seen(self) -> Seen:
        voter, controller, now_ms = self._node.raft.voter, self._node.controller, self._clock_ms()
        election, latest = voter.election, self.storage.snapshots.latest
        return Seen(
            now_ms, controller.committed.copy(),
            {id_: one.contact_ms for id_, one in controller.sessions.of_broker.items()},
            controller.is_active, type(voter.role).__name__.lower(),
            NOBODY if election.leader is None else election.leader,
            NOBODY if election.voted_for is None else election.voted_for,
            voter.epoch, voter.high_watermark, voter.log.end_offset, voter.log.last_epoch, len(voter.settings.voters),
            self._about.observers, len(self._silent), len(voter.role.parked) if isinstance(voter.role, Leader) else 0,
            0 if latest is None else latest[0], self._node.applied_ms,
        )  # fmt: skip

    # The network.

    async def _handle(self, header: RequestHeader, body: bytes, caller: Caller) -> bytes:
        if header.api_key == API_VERSIONS:
            image = self._node.controller.committed
            features = features_told(SUPPORTED, image.features, max(image.offset, 0))
            return api_versions(header.api_version, {**SERVED, **connections.VERSIONS}, features)
        check_served(SERVED, header.api_key, header.api_version)
        rights = self._rights(caller)
        if header.api_key in ALONE or header.api_key in controller_wire.SERVED:
            return NO_TAGS + await self._served(header, without_tags(body), rights)
        if request_kind(header.api_key, header.api_version).__flexible__:
            return NO_TAGS + await self._served_to_voter(header, without_tags(body), rights)
        return await self._served_to_voter(header, body, rights)

    def _rights(self, caller: Caller) -> Rights:
        return rights_of(self._authorizer, self._node.controller.committed, caller)

    async def _served(self, header: RequestHeader, body: bytes, rights: Rights) -> bytes:
        if header.api_key == envelope.KEY:
            return await self._forwarded(body, rights)
        answer, _ = await self._decided(header, body, rights)
        return answer

    async def _served_to_voter(self, header: RequestHeader, body: bytes, rights: Rights) -> bytes:
        """Or to an observer."""
        key, version = header.api_key, header.api_version
        if not rights.permit(key):
            return quorum_wire.refused(key, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, version)
        request = quorum_wire.read_request(key, body, version)
        if isinstance(request, FetchRequest):
            self._about.note_fetch(request)
        [found] = await self._asked(
            lambda calls, now_ms: self._node.handle_quorum(calls[0], request, now_ms), (request,)
        )
        return quorum_wire.response_bytes(found, version)

    async def _forwarded(self, body: bytes, rights: Rights) -> bytes:
        """What a broker may do counts first, then what the client may whom it forwards for."""
        if not rights.permit(envelope.KEY):
            return envelope.refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        try:
            header, within, client = envelope.read_envelope(body)
        except envelope.PrincipalError:
            return envelope.refusal(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
        if header.api_key not in envelope.FORWARDED:
            return envelope.refusal(ErrorCode.INVALID_REQUEST)
        least, most = SERVED[header.api_key]
        if not least <= header.api_version <= most:
            return envelope.refusal(ErrorCode.UNSUPPORTED_VERSION)
        answer, errors = await self._decided(header, within, self._rights(client))
        if ErrorCode.NOT_CONTROLLER in errors:
            return envelope.refusal(ErrorCode.NOT_CONTROLLER)
        return envelope.enveloped(header, answer)

    async def _decided(self, header: RequestHeader, body: bytes, rights: Rights) -> tuple[bytes, set[ErrorCode]]:
        """What the controller answers, and with which errors of decisions."""
        key, version = header.api_key, header.api_version
        refusal = ErrorCode.NONE if rights.permit(key) else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        is_refused = refusal is not ErrorCode.NONE
        if key in about.VERSIONS:
            return self._about.refused(key, refusal) if is_refused else self._about.response_bytes(key, body), set()
        if key in controller_wire.SERVED:
            request = controller_wire.read_request(key, version, body)
            reply = RESPONSES[type(request)](refusal) if is_refused else await self._decision(request)
            return controller_wire.response_bytes(key, version, request, reply), {reply.error}
        image = self._node.controller.committed
        if key in access_wire.VERSIONS:
            if key in access_wire.OF_ACLS and self._authorizer is None:
                refusal = ErrorCode.SECURITY_DISABLED
            parts = access_wire.read_parts(key, body, image, refusal)
        else:
            parts = admin_wire.read_parts(key, body, image, rights)
            if is_refused:
                return admin_wire.refused(parts, refusal), set()
        if key in _IN_ONE_STEP:
            replies = await self._decisions(parts.requests)
        else:
            replies = await asyncio.gather(*map(self._decision, parts.requests))
        return parts.response_bytes(replies), {reply.error for reply in replies}

    async def _decision(self, request: ControllerRequest) -> Any:
        [reply] = await self._asked(lambda calls, now_ms: self._node.handle(calls[0], request, now_ms), (request,))
        return reply

    async def _register(self, request: ControllerRegistrationRequest) -> ErrorCode:
        asked = self._decision(request) if self._node.controller.is_active else self._channel.send(request)
        return ErrorCode((await asked).error)

    async def _decisions(self, requests: Sequence[ControllerRequest]) -> list[Any]:
        """Of one step."""
        return await self._asked(
            lambda calls, now_ms: self._node.handle_all(list(zip(calls, requests, strict=True)), now_ms), requests
        )

    async def _asked(
        self, step: Callable[[Sequence[int], int], NodeEffects], requests: Sequence[ControllerRequest | Request]
    ) -> list[Any]:
        """What a step answers to each of these, now or later; it is given the numbers of the calls, and the time."""
        calls = range(self._last_call + 1, self._last_call + 1 + len(requests))
        self._last_call += len(requests)
        self._measures.operation()
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[object]] = [loop.create_future() for _ in calls]
        self._calls.update(zip(calls, answers, strict=True))
        asked_ms = self._clock_ms()

        def taken(now_ms: int) -> NodeEffects:
            began_ms = self._clock_ms()
            try:
                was_active = self._node.controller.is_active
                effects = step(calls, now_ms)
                if self._trace is not None:
                    self._trace.handled(calls, requests, decides=was_active)
                return effects
            except InvalidFieldError as error:  # of a request; nothing has changed
                for answer in answers:
                    if not answer.done():  # its sender may have left
                        answer.set_exception(WireError(str(error)))
                return []
            finally:
                self._measures.processed(began_ms - asked_ms, self._clock_ms() - began_ms)

        self._loop.post(taken)
        try:
            return [await answer for answer in answers]
        finally:
            for call, answer in zip(calls, answers, strict=True):
                self._calls.pop(call, None)
                if answer.done() and not answer.cancelled():
                    answer.exception()  # that of the first was raised for all

    def _answer(self, call: int, response: object) -> None:
        """Who has left is not answered."""
        answer = self._calls.get(call)
        if answer is not None and not answer.done():
            answer.set_result(response)

    def _on_response(self, to: int, request: Request, response: Response | None) -> None:
        self._silent = self._silent | {to} if response is None else self._silent - {to}
        self._loop.post(lambda now_ms: self._node.on_response(to, request, response, now_ms))


def clock() -> Callable[[], int]:
    """A clock that starts at the time of day, for the times of batches, and then never goes back, for timers."""
    ahead_ms = time.time_ns() // 1_000_000 - monotonic_ms()
    return lambda: monotonic_ms() + ahead_ms


def _node(
    configuration: Configuration,
    cluster_id: str,
    bootstrap: tuple[BootstrapRecord, ...],
    storage: QuorumStorage,
) -> Node:
    """The node as the log directory has it."""
    raft = Raft(raft_settings(configuration, cluster_id), storage.election, recovered_ends(storage))
    settings = controller_settings(configuration, cluster_id, bootstrap)
    return recovered_node(raft, settings, storage, MetadataCodec(), snapshot_settings(configuration))
