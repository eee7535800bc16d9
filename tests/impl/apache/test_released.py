"""Apache Kafka's released controller, driven through models: what conforms, and what it does otherwise."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.loading import load_system
from checker.conform.system import SystemLostError
from checker.lang.loader import load
from checker.verdicts import CONFORMS, DIVERGES, INCOMPLETE, VACUOUS
from impl.adapters.apache_kafka.system import ApacheCore, ApacheUnderTest, MixedCore
from impl.apache.controller import ApacheController
from impl.apache.jvm import Number, jvm, jvm_of
from impl.apache.release import classes, jars, missing, sources
from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest
from impl.kraft.records import Batch, NoOpRecord, RegisterBrokerRecord, SupportedFeature
from impl.kraft.snapshot import Snapshot
from tests.impl.apache.jars import skip_without

VERSION = "4.3.1"
SETTING = "kafka_4_3_controller"
WHY = missing(VERSION)
released = pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released controller")
FAR = 10
"""Steps, by which a fault has shown; the spec is searched no further, either."""
LONG = pytest.mark.long("a JVM, and thousands of steps in it")


def driven(model: str, system: Any, changes: Mapping[str, object], max_depth: int | None = None) -> Any:
    bound = load(f"kraft/{model}", {name: str(value) for name, value in changes.items()}, SETTING)
    return conform(bound, system, f"apache-kafka:{VERSION}", ConformOptions(max_depth=max_depth))


@released
@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(
    ("model", "changes", "verdict", "transitions", "pairs"),
    [
        ("stuck_reassignment", {"max_crashes": 0}, VACUOUS, 427, 245),
        ("lossy", {"max_crashes": 0, "max_disk_losses": 0}, VACUOUS, 10_560, 1_464),
        ("refused", {"max_early_expiries": 0, "max_crashes": 0}, VACUOUS, 7_988, 1_425),
        ("open", {}, CONFORMS, 29_378, 1_196),
        ("open_rolling", {"brokers": 2, "max_shutdowns": 1}, CONFORMS, 8_613, 325),
    ],
)
def test_what_conforms(model: str, changes: dict[str, object], verdict: str, transitions: int, pairs: int) -> None:
    """Every transition is driven. Some actions the smaller models never take."""
    report = driven(model, load_system(f"apache-kafka:{VERSION}"), changes)
    assert (report.divergence, report.verdict) == (None, verdict)
    assert (report.counts.transitions, report.pairs) == (transitions, pairs)


@released
@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(
    "model",
    ["creation", "refusal", "failover_reassignment", "snapshot_reassignment", "unregistration", "failover_ends",
     "failover_twins", "snapshot"],
)  # fmt: skip
def test_several_released_controllers_conform_as_far_as_they_are_driven(model: str) -> None:
    """Answers wait for a commit, of brokers and of operators; snapshots are loaded, and brokers register anew."""
    report = driven(model, load_system(f"apache-kafka:{VERSION}"), {}, 5)
    assert (report.divergence, report.verdict) == (None, INCOMPLETE)


@released
@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(
    ("model", "switch", "says"),
    [
        ("deletion", "finds_uncommitted_topics", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("failover", "fences_once", "log"),  # who is fenced, and asks to shut down, is fenced by one more batch
    ],
)
def test_what_only_several_controllers_show(model: str, switch: str, says: str) -> None:
    report = driven(model, load_system(f"apache-kafka:{VERSION}"), {switch: True}, 6)
    assert report.verdict == DIVERGES
    assert says in f"{report.reason} {report.divergence.rows}"


@released
@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(
    ("model", "changes", "step", "says"),
    [
        ("membership", {"fenced_holder_yields": True}, 2, "expired_leases"),
        ("membership", {"registration_starts_lease": True}, 2, "expired_leases"),
        ("membership", {"repeated_registration_renews": True}, 5, "expired_leases"),
        ("membership", {"repeated_registration_is_known": True}, 5, "image.offset"),
        ("restarts", {"registration_keeps_report": True}, 8, "lagging"),
        ("restarts", {"failover_knows_shutdowns": True}, 9, "shutdowns"),
        ("stuck_reassignment", {"removed_addition_is_dropped": True, "max_crashes": 0, "max_reassignments": 2}, 3,
         "replicas"),
        ("stuck_reassignment", {"removed_keep_order": True, "max_crashes": 0, "max_reassignments": 2}, 3, "replicas"),
        ("reassignment", {"kafka_19975": False, "max_reassignments": 1}, 3, "replicas"),
        ("snapshot", {"snapshot_keeps_offsets": True}, 10, "fenced"),
        ("open", {"registration_starts_lease": True}, 2, "expired_leases"),
        ("open", {"repeated_registration_is_known": True}, 3, "image.offset"),
        ("open", {"lease_check_by_timer": False}, 8, "fenced"),
        ("open_shutdown", {"registration_keeps_report": True}, 8, "lagging"),
    ],
    ids=str,
)  # fmt: skip
def test_what_it_does_otherwise(model: str, changes: dict[str, object], step: int, says: str) -> None:
    """Each switch of the setting is told from its opposite."""
    report = driven(model, load_system(f"apache-kafka:{VERSION}"), changes, step)
    assert report.verdict == DIVERGES and report.divergence is not None
    assert len(report.divergence.trace.steps) == step
    differs = [row for row in report.divergence.rows if row.differs]
    assert says in f"{report.reason} {differs}"


OTHERS = [
    ("3.9.2", "kafka_3_9_controller"),
    ("4.0.2", "kafka_4_0_controller"),
    ("4.1.2", "kafka_4_1_controller"),
    ("4.2.1", "kafka_4_2_controller"),
    ("4.4.0", "kafka_4_4_controller"),
]


@pytest.mark.large("a JVM for each release, and thousands of steps in it")
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(("version", "setting"), OTHERS)
@pytest.mark.parametrize(
    ("model", "changes", "steps"),
    [("membership", {}, 5), ("stuck_reassignment", {"max_crashes": 0, "max_reassignments": 2}, 3)],
    ids=("membership", "stuck_reassignment"),
)
def test_other_releases_do_what_their_settings_say(
    version: str, setting: str, model: str, changes: dict[str, object], steps: int
) -> None:
    """As far as the switches of the settings are told from their opposites."""
    skip_without(version)
    found = {}
    for named in (setting, SETTING):
        bound = load(f"kraft/{model}", {name: str(value) for name, value in changes.items()}, named)
        system = load_system(f"apache-kafka:{version}")
        found[named] = conform(bound, system, version, ConformOptions(max_depth=steps)).verdict
    reassigns_otherwise = model == "stuck_reassignment" and version != "4.4.0"  # than 4.3
    differs = reassigns_otherwise or version == "3.9.2"
    assert found == {setting: INCOMPLETE, SETTING: DIVERGES if differs else INCOMPLETE}


@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(
    ("model", "changes", "step"),
    [
        ("lifecycle", {}, None),
        ("unregistration", {}, None),
        ("membership", {"fenced_holder_yields": False}, 5),
        ("membership", {"repeated_registration_is_known": True}, 5),
        ("lifecycle", {"expired_session": True}, 4),
        ("lifecycle", {"lease_check_by_timer": True}, 5),
        ("restarts", {"registration_keeps_report": True}, 8),
        ("restarts", {"failover_knows_shutdowns": True}, 9),
    ],
    ids=str,
)
def test_what_3_9_does_and_does_otherwise(model: str, changes: dict[str, object], step: int | None) -> None:
    """Each switch in which its setting is not that of 4.3, or of `shipped`, is told from its opposite."""
    version, setting = OTHERS[0]
    skip_without(version)
    bound = load(f"kraft/{model}", {name: str(value) for name, value in changes.items()}, setting)
    depth = step or {"lifecycle": 10, "unregistration": 6}[model]
    report = conform(bound, load_system(f"apache-kafka:{version}"), version, ConformOptions(max_depth=depth))
    assert (len(report.divergence.trace.steps) if report.divergence else None) == step


@pytest.mark.large("a JVM, and thousands of steps in it")
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(("version", "starts"), [("4.0.2", True), ("4.1.2", False)])
def test_4_0_starts_leases_of_fenced_brokers_after_a_failover(version: str, starts: bool) -> None:
    skip_without(version)
    found = {}
    for setting in ("kafka_4_0_controller", "kafka_4_1_controller"):
        system = load_system(f"apache-kafka:{version}")
        found[setting] = conform(load("kraft/lifecycle", {}, setting), system, version, ConformOptions(max_depth=6))
    verdicts = [report.verdict for report in found.values()]
    assert verdicts == ([INCOMPLETE, DIVERGES] if starts else [DIVERGES, INCOMPLETE])
    diverged = found["kafka_4_1_controller" if starts else "kafka_4_0_controller"]
    assert "expired_leases" in f"{diverged.reason} {diverged.divergence}"


class Fenced(ApacheController):
    """It tells every broker that it is fenced."""

    def handle(self, call: int, request: Any, now_ms: int) -> Any:
        effects = super().handle(call, request, now_ms)
        return [told_that_it_is_fenced(one) for one in effects]

    def on_commit(self, offset: int, now_ms: int) -> Any:
        return [told_that_it_is_fenced(one) for one in super().on_commit(offset, now_ms)]


def told_that_it_is_fenced(effect: Any) -> Any:
    response = getattr(effect, "response", None)
    if not isinstance(response, BrokerHeartbeatResponse) or response.error is not ErrorCode.NONE:
        return effect
    return replace(effect, response=replace(response, is_fenced=True))


class Deaf(ApacheController):
    """It never looks for leases that have run out."""

    def on_timer(self, timer: Any, now_ms: int) -> Any:
        return [] if timer[0] == "lease" else super().on_timer(timer, now_ms)


class Generous(ApacheController):
    """It takes every broker for one that has all metadata."""

    def handle(self, call: int, request: Any, now_ms: int) -> Any:
        if isinstance(request, BrokerHeartbeatRequest):
            request = replace(request, current_metadata_offset=1 << 40)
        return super().handle(call, request, now_ms)


@released
@LONG
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize(("kind", "model"), [(Fenced, "membership"), (Generous, "membership"), (Deaf, "zombie")])
def test_a_fault_is_found(kind: type[ApacheController], model: str) -> None:
    class Core(ApacheCore):
        def controller(self, settings: ControllerSettings, snapshot: Any = None, voter: int = 0) -> ApacheController:
            assert snapshot is None
            return kind(VERSION, settings)

    report = driven(model, ApacheUnderTest(Core(VERSION)), {}, FAR)
    assert report.verdict == DIVERGES


@released
@pytest.mark.xdist_group("apache")
def test_a_field_that_nobody_names_is_part_of_the_state() -> None:
    """The harness says nothing of a broker's rack."""
    controller = ApacheController(VERSION, ControllerSettings(cluster_id="c"))
    controller.claim(1, 0)
    controller.on_commit(1, 0)
    features = (SupportedFeature("metadata.version", 1, 20),)
    states = []
    for rack in ("here", "there", "here"):
        other = controller.copy()
        other.handle(1, BrokerRegistrationRequest(0, "c", UUID(int=1), features=features, rack=rack), 0)
        assert f"rack={rack}" in other.state.description()
        states.append((other.state.digest, other.state.numbers))
    assert states[0] != states[1] and states[0] == states[2]


@released
@pytest.mark.xdist_group("apache")
def test_what_would_be_taken_back_is_part_of_the_state() -> None:
    """An active controller that loses the role goes back to what is committed, which it keeps beside the newest."""
    controller = ApacheController(VERSION, ControllerSettings(cluster_id="c"))
    assert controller.state.reverted is None
    controller.claim(1, 0)
    controller.on_commit(1, 0)
    before = renounced(controller)
    assert controller.state.reverted == before
    features = (SupportedFeature("metadata.version", 1, 20),)
    controller.handle(1, BrokerRegistrationRequest(0, "c", UUID(int=1), features=features), 0)
    assert controller.state.reverted == before
    controller.on_commit(controller.speculative.offset + 1, 0)
    assert controller.state.reverted == renounced(controller) != before


def renounced(controller: ApacheController) -> tuple[str, tuple[Number, ...]]:
    other = controller.copy()
    other.renounce(0)
    return other.state.digest, other.state.numbers


@released
@pytest.mark.xdist_group("apache")
def test_what_is_forgotten_with_the_role_is_part_of_the_state_before() -> None:
    """The record right behind a snapshot (OffsetControlManager.endLoadSnapshot), while all is committed."""
    first, last = (RegisterBrokerRecord(at, UUID(int=at), at, (), (), None, fenced=True) for at in (0, 6))
    active = []
    for snapshot_offset in (4, 5):
        controller = ApacheController(VERSION, ControllerSettings(cluster_id="c"))
        controller.load(Snapshot(snapshot_offset, 1, (first,)))
        for offset in range(snapshot_offset + 1, 6):
            controller.replay(Batch(offset, 1, (NoOpRecord(),)))
        controller.replay(Batch(6, 1, (last,)))
        controller.claim(2, 0)
        active.append(controller.state)
    keeps, forgets = active
    assert keeps.digest == forgets.digest and keeps.reverted is not None and forgets.reverted is not None
    assert keeps.reverted[0] != forgets.reverted[0]


@released
@pytest.mark.xdist_group("apache")
def test_a_state_is_made_again_in_another_process() -> None:
    controller = ApacheController(VERSION, ControllerSettings(cluster_id="c"))
    controller.claim(1, 0)
    state = controller.state
    again = pickle.loads(pickle.dumps(state))
    assert (again.digest, again.numbers) == (state.digest, state.numbers)
    assert again.number != state.number


@released
@pytest.mark.xdist_group("apache")
def test_a_dead_jvm_is_no_verdict() -> None:
    model = load("kraft/stuck_reassignment", {"max_crashes": "0"}, SETTING)
    system = load_system(f"apache-kafka:{VERSION}")

    class Dying(ApacheUnderTest):
        def step(self, *arguments: Any) -> Any:
            jvm(VERSION).close()
            return super().step(*arguments)

    try:
        with pytest.raises(SystemLostError, match=r"JVM with Apache Kafka 4\.3\.1 is gone"):
            conform(model, Dying(system._core), "dying", ConformOptions())  # type: ignore[attr-defined]
    finally:
        jvm_of.cache_clear()


@released
@LONG
@pytest.mark.xdist_group("apache")
def test_a_build_is_a_folder_of_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    for jar in jars(VERSION).glob("*.jar"):
        (libs / jar.name).symlink_to(jar)
    monkeypatch.setenv("FENCEPOST_KAFKA", str(tmp_path / "cache"))
    bound = load("kraft/stuck_reassignment", {"max_crashes": "0"}, SETTING)
    report = conform(bound, load_system(f"apache-kafka:{libs}"), "a build", ConformOptions(max_depth=2))
    assert report.verdict == INCOMPLETE and report.counts.transitions > 0
    assert all(one.is_symlink() for one in libs.iterdir()), "nothing is written into the folder of a build"


def test_each_release_gets_its_own_sources(tmp_path: Path) -> None:
    def manager_of(version: str) -> str:
        return next(text for place, text in sources(version) if place.name == "Manager.java")

    assert "kafka.server.NodeToController" in manager_of("3.9.2")
    assert "kafka.server.common.NodeToController" in manager_of("4.0.2")
    assert "scala.runtime" in manager_of("4.2.1") and "scala.runtime" not in manager_of("4.3.1")
    (tmp_path / "kafka_2.13-4.4.0-SNAPSHOT.jar").touch()
    assert manager_of(str(tmp_path)) == manager_of("4.3.1")
    places = [place for place, _ in sources("4.1.2")]
    assert len(places) == len(set(places))


@released
def test_what_a_class_does_not_need_is_not_compiled_for_it() -> None:
    """So that controllers of a build can be driven whose voters or replicas have another form."""
    assert not [*classes(VERSION).rglob("SteppedVoter.class"), *classes(VERSION).rglob("Replicas.class")]
    assert list(classes(VERSION).rglob("KafkaEventQueue.class"))


def test_a_folder_without_jars_gets_one_message(tmp_path: Path) -> None:
    if "there is no java" in WHY:
        pytest.skip(WHY)
    with pytest.raises(SystemLostError, match=r"there is no kafka_2\.13-\*\.jar in .*: name the folder libs"):
        load_system(f"apache-kafka:{tmp_path}")


@pytest.mark.parametrize(
    ("version", "says"),
    [("0.0.1", "there are no jars of Apache Kafka 0.0.1"), ("nonsense", "is no version of Apache Kafka")],
)
def test_a_release_that_is_not_there_gets_one_message(version: str, says: str) -> None:
    with pytest.raises(SystemLostError, match=says):
        load_system(f"apache-kafka:{version}")


@pytest.mark.parametrize(
    ("core", "constants", "actions", "says"),
    [
        (MixedCore, {"snapshots": 1, "max_failovers": 1}, ("load_snapshot", "handle_heartbeat"), "--set snapshots=0"),
        (MixedCore, {"snapshots": 1, "max_failovers": 1}, ("load_snapshot", "delete_topic"), ""),
        (MixedCore, {"snapshots": 0, "max_failovers": 2}, ("load_snapshot", "handle_heartbeat"), ""),
        (ApacheCore, {"snapshots": 1, "max_failovers": 2}, ("load_snapshot", "delete_topic"), "--set max_failovers=1"),
        (ApacheCore, {"snapshots": 1, "max_failovers": 1}, ("load_snapshot", "handle_heartbeat"), ""),
    ],
)
def test_what_the_spec_does_not_say_of_snapshots_is_refused(
    core: type[ApacheCore], constants: dict[str, int], actions: tuple[str, ...], says: str
) -> None:
    """Without a JVM: what its controllers are asked for decides."""
    refusal = ApacheUnderTest(core.__new__(core)).lacks({"max_crashes": 0, **constants}, actions)
    assert says in refusal and bool(says) == bool(refusal)
