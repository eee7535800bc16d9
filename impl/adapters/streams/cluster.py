"""The group under test: a coordinator, processes with their threads, and the requests and replies between them.

All of it is immutable: a step copies the cores that it touches, and shares the rest. There is no time: whose session is
over is a step. As in the spec, a request arrives in the step that sends it, and so does the answer to a JoinGroup; a
SyncGroup's is under way until its member takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from impl.streams.assignor import Sources
from impl.streams.codec import Format
from impl.streams.config import StreamsConfig
from impl.streams.coordinator import Answer, Coordinator, Store, StoredGroup
from impl.streams.coordinator import Effects as CoordinatorEffects
from impl.streams.design import SHIPPED_2_0, SHIPPED_2_4, SHIPPED_2_6, Design
from impl.streams.member import OWNERLESS, Effects, Member, Send, State
from impl.streams.messages import ErrorCode, JoinedGroup, JoinGroup, LeaveGroup, SyncedGroup, SyncGroup
from impl.streams.versions import FIRST_PROBING, STANDS_FOR, Release

NOW_MS = 0
TOPIC = "t"
PORT = 80
_SPEC_VERSIONS = {"R0_10_0": 1, "R1_2": 3, "POST_1_2": 4, "LATER": 5}
_OF_2 = 2
_FIRST_UNIQUE = 8
_UPGRADE_FROM = {version: value for value, version in STANDS_FOR.items()}
_BEHAVIOURS = {"SHIPPED_2_0": SHIPPED_2_0, "SHIPPED_2_4": SHIPPED_2_4, "SHIPPED_2_6": SHIPPED_2_6}
_BY_PROCESS = {"ALL_FIXED": (SHIPPED_2_4, SHIPPED_2_6), "ONE_UNFIXED": (SHIPPED_2_0, SHIPPED_2_4)}
"""Where releases meet: how the first processes behave once they have been bounced."""


class Procedure(NamedTuple):
    """What the operator does, and the sizes of a model."""

    processes: int
    threads: int
    tasks: int
    versions: tuple[int, ...]
    """What a process supports after so many bounces."""
    held: tuple[int | None, ...]
    """What its upgrade.from stands for then."""
    design: Design
    meet: str
    has_failovers: bool

    @classmethod
    def of(cls, constants: Mapping[str, Any]) -> Procedure:
        old, new, later = (
            _SPEC_VERSIONS.get(constants[name].name, _OF_2) for name in ("from_release", "to_release", "then_release")
        )
        is_configured = constants["sets_upgrade_from"] and not constants["offline"]
        held = [old] if old < FIRST_PROBING and old < new and is_configured else []
        versions = [old, *(new for _ in held), new, *([] if constants["then_release"].name == "NONE" else [later])]
        design = Design(**{name: constants[name] for name in Design.__dataclass_fields__})
        is_unique = design.unique_field
        return cls(
            constants["processes"],
            constants["threads"],
            constants["tasks"],
            tuple(real(version, is_unique) for version in versions),
            (None, *held, *(None for _ in versions[1 + len(held) :])),
            design,
            constants["meet"].name,
            constants["max_failovers"] > 0,
        )

    def config(self, process: int, bounces: int) -> StreamsConfig:
        """What a process is started with."""
        version, held = self.versions[bounces], self.held[bounces]
        release = Release(str(version), Format(version, has_tail=version == _OF_2), self._design_of(process, bounces))
        return StreamsConfig("app", release, None if held is None else _UPGRADE_FROM[held], f"{host(process)}:{PORT}")

    def _design_of(self, process: int, bounces: int) -> Design:
        behaves: Design | None = _BEHAVIOURS.get(self.meet)
        if self.meet in _BY_PROCESS:
            behaves = SHIPPED_2_0 if bounces == 0 else dict(enumerate(_BY_PROCESS[self.meet])).get(process)
        if behaves is None:
            return self.design
        both = {n: getattr(self.design, n) and getattr(behaves, n) for n in Design.__dataclass_fields__}
        return Design(**{**both, "error_in_readable_version": self.design.error_in_readable_version})

    def sources(self) -> Sources:
        return Sources({0: (TOPIC,)}, {TOPIC: self.tasks}) if self.tasks else Sources()


def host(process: int) -> str:
    """The host of a process's endpoint."""
    return f"p{process}"


def real(version: int, is_unique: bool) -> int:
    """The version that stands for one of the spec's: 3, 4, 5, or with the unique field the first ones that have it."""
    return version + _FIRST_UNIQUE - FIRST_PROBING if version >= FIRST_PROBING and is_unique else version


@dataclass(frozen=True)
class Application:
    """A process."""

    up: bool
    bounces: int


@dataclass(frozen=True)
class Host:
    """A thread. core: None where its process is down. call: of the request that it waits for. reply: under way."""

    core: Member | None = None
    call: int = 0
    reply: SyncedGroup | None = None


@dataclass(frozen=True, eq=False)
class Cluster:
    """The whole system under test. calls: requests and member ids that were given a number.

    stored: the group when it was last stable, where a coordinator may fail over.
    """

    procedure: Procedure
    coordinator: Coordinator
    processes: tuple[Application, ...]
    hosts: tuple[Host, ...]
    calls: int = 0
    stored: StoredGroup | None = None

    def core(self, thread: int) -> Member:
        found = self.hosts[thread].core
        assert found is not None, "its process is up"
        return found

    def process_of(self, thread: int) -> int:
        return thread // self.procedure.threads

    def member_id(self, thread: int) -> str | None:
        """The member that the coordinator knows a thread as."""
        found = [member for member, one in self.coordinator.members.items() if one.client_id == f"t{thread}"]
        assert len(found) < 2, "a thread is one member"
        return found[0] if found else None

    def with_host(self, thread: int, host: Host) -> Cluster:
        return replace(self, hosts=(*self.hosts[:thread], host, *self.hosts[thread + 1 :]))

    def with_process(self, process: int, application: Application) -> Cluster:
        """A process is started or stopped, with all its threads."""
        applications = (*self.processes[:process], application, *self.processes[process + 1 :])
        cluster = replace(self, processes=applications)
        for thread in range(len(self.hosts)):
            if cluster.process_of(thread) == process:
                core = cluster.new_member(thread) if application.up else None
                cluster = cluster.with_host(thread, Host(core))
        return cluster

    def new_member(self, thread: int) -> Member:
        process = self.process_of(thread)
        config = self.procedure.config(process, self.processes[process].bounces)
        return Member(config, f"t{thread}", UUID(int=process), self.procedure.sources())


def by_member(cluster: Cluster, thread: int, core: Member, effects: Effects) -> Cluster:
    """Carry out what a thread asks for. `core` is a copy that nobody else has."""
    cluster = cluster.with_host(thread, replace(cluster.hosts[thread], core=core))
    for effect in effects:
        if isinstance(effect, Send):
            call = cluster.calls + 1
            cluster = replace(cluster, calls=call)
            coordinator = cluster.coordinator.copy()
            match effect.request:
                case JoinGroup() as request:
                    cluster = cluster.with_host(thread, replace(cluster.hosts[thread], call=call))
                    answers = coordinator.on_join((thread, call), request, NOW_MS, f"t{thread}-{call}")
                case SyncGroup() as request:
                    cluster = cluster.with_host(thread, replace(cluster.hosts[thread], call=call))
                    answers = coordinator.on_sync((thread, call), request, NOW_MS)
                case LeaveGroup() as request:
                    answers = coordinator.on_leave((thread, call), request, NOW_MS)
                case request:
                    raise AssertionError(f"{request} is not sent here")
            cluster = by_coordinator(cluster, coordinator, answers)
    return cluster


def by_coordinator(cluster: Cluster, coordinator: Coordinator, effects: CoordinatorEffects) -> Cluster:
    """Carry out what the coordinator asks for. `coordinator` is a copy that nobody else has."""
    cluster = replace(cluster, coordinator=coordinator)
    for effect in effects:
        if isinstance(effect, Store) and cluster.procedure.has_failovers:
            cluster = replace(cluster, stored=effect.group)
        elif isinstance(effect, Answer) and isinstance(effect.response, JoinedGroup | SyncedGroup):
            assert isinstance(effect.call, tuple)
            thread, call = effect.call
            host = cluster.hosts[thread]
            if host.core is not None and host.call == call:
                cluster = _answered(cluster.with_host(thread, replace(host, call=0)), thread, effect.response)
    return cluster


def _answered(cluster: Cluster, thread: int, response: JoinedGroup | SyncedGroup) -> Cluster:
    host, core = cluster.hosts[thread], cluster.core(thread).copy()
    if isinstance(response, SyncedGroup):
        if response.error is ErrorCode.NONE:
            return cluster.with_host(thread, replace(host, reply=response))
        return by_member(cluster, thread, core, core.on_synced(response, NOW_MS))
    cluster = by_member(cluster, thread, core, core.on_joined(response, NOW_MS))
    if response.error is ErrorCode.MEMBER_ID_REQUIRED:
        core = cluster.core(thread).copy()
        return by_member(cluster, thread, core, core.poll(NOW_MS))
    return cluster


def heartbeat(cluster: Cluster, thread: int) -> Cluster:
    """A thread hears how its membership stands."""
    core, coordinator = cluster.core(thread).copy(), cluster.coordinator.copy()
    request = core.heartbeat()
    (answer,) = coordinator.on_heartbeat(thread, request, NOW_MS)
    assert isinstance(answer, Answer) and not isinstance(answer.response, JoinedGroup | SyncedGroup)
    cluster = by_coordinator(cluster, coordinator, [])
    return by_member(cluster, thread, core, core.on_done(request, answer.response))


def polled(cluster: Cluster, thread: int, sources: Sources | None = None) -> Cluster:
    """A thread does what comes next. sources: what it finds the topics to be."""
    core = cluster.core(thread).copy()
    if sources is None:
        return by_member(cluster, thread, core, core.poll(NOW_MS))
    kept, core.sources = core.sources, sources
    effects = core.poll(NOW_MS)
    core.sources = kept
    return by_member(cluster, thread, core, effects)


def expired(cluster: Cluster, member: str) -> Cluster:
    """The session of a member is over."""
    coordinator = cluster.coordinator.copy()
    return by_coordinator(cluster, coordinator, coordinator.expire(member, NOW_MS))


def completed(cluster: Cluster, leader: int) -> Cluster:
    """The rebalance completes, if it can. leader: who leads where the leader is gone."""
    coordinator = cluster.coordinator.copy()
    effects = coordinator.complete_join(NOW_MS, cluster.member_id(leader) or "")
    return by_coordinator(cluster, coordinator, effects)


def disconnected(cluster: Cluster, thread: int) -> Cluster:
    """The connection of a thread is gone, with what was under way to it, and it finds the coordinator that there is."""
    core = cluster.core(thread).copy()
    core.on_disconnected()
    core.on_coordinator()
    return cluster.with_host(thread, Host(core))


def failed_over(cluster: Cluster) -> Cluster:
    """Another coordinator loads the group. Who waits sends its request again, and hears if its member id is unknown."""
    cluster = replace(cluster, coordinator=Coordinator.load(cluster.stored, NOW_MS))
    for thread, host in enumerate(cluster.hosts):
        if host.core is None or host.core.state in OWNERLESS or host.reply is not None:
            continue
        cluster = disconnected(cluster, thread)
        core = cluster.core(thread)
        if core.state is State.RETRY and core.member_id not in cluster.coordinator.members:
            cluster = polled(cluster, thread)
    return cluster


MISSING = Sources({0: ("missing",)})
"""A source topic is missing."""
