"""Runs of real clusters as traces: what the spec accepts and rejects, and how a run becomes a trace."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from checker.cli.main import fencepost
from checker.lang.loader import load
from checker.validate.corpus import CorpusOptions, validate
from checker.validate.validator import ACCEPTED, REJECTED
from impl.apache.errors import ApacheError
from impl.apache.recording import scenario
from impl.apache.recording.decisions import Decision, decisions, operations
from impl.apache.recording.driving import CRASH, SIGTERM, START, Done
from impl.apache.recording.metadata_log import DIRECTORY, Batch, committed, read
from impl.apache.recording.projection import MODEL, placed_in, refused_in
from impl.apache.recording.record import VERSION, setting_of
from impl.apache.recording.requests import Refused
from impl.apache.release import missing
from impl.kraft.metadata.encoding import MetadataRecord, encode
from impl.kraft.recorded.image import Partition, changed, partition_state
from impl.kraft.storage import batches
from impl.kraft.storage.control import LeaderChange, leader_change
from tests.impl.apache import schedules
from tests.impl.apache.corruptions import ALL, OF_REFUSED, corrupted

WHY = missing(VERSION, ("java",))
real = pytest.mark.skipif(bool(WHY), reason=WHY or "there is an Apache Kafka")
RUN = Path(__file__).parent / "recorded_run.ndjson"
"""A run of one controller and three brokers: broker 0 is killed and started again, then broker 1 gets SIGTERM."""

REFUSALS = RUN.with_name("recorded_refusals.ndjson")
"""A run in which broker 0 is killed and started at once, so that it is refused until the lease of its predecessor is
over; the requests of broker 1 are held for 7 s, and those of broker 2 sent twice."""

QUORUM = RUN.with_name("recorded_quorum.ndjson")
"""A run of three controllers: registrations are repeated until there is a majority; a broker gets SIGTERM, a controller
is killed, and a topic is reassigned and deleted."""

NO_OP = MetadataRecord("NO_OP_RECORD", 0, {})


# What the spec says of a run.


@pytest.mark.long("10 s of CPU: the kernel of kraft/recorded, and two dozen traces")
def test_recorded_runs_are_accepted_and_each_corruption_of_one_rejected() -> None:
    texts = [path.read_text() for path in (RUN, QUORUM, REFUSALS)]
    texts += [corrupted(RUN.read_text(), ALL), corrupted(REFUSALS.read_text(), OF_REFUSED)]
    summary = validate(load(MODEL, {}, setting_of(VERSION)), [("runs", "".join(texts).encode())], CorpusOptions())
    assert {verdict.trace for verdict in summary.verdicts} == {*ALL, *OF_REFUSED}
    assert (summary.counts[ACCEPTED], summary.counts[REJECTED]) == (3, len(ALL) + len(OF_REFUSED))


@real
@pytest.mark.large("two runs of a real cluster, of one to two minutes each")
@pytest.mark.parametrize("seed", [0, 2])
def test_runs_of_a_real_cluster_are_behaviours_of_the_spec(seed: int, tmp_path: Path) -> None:
    run = schedules.run_one(seed, tmp_path / "cluster")
    assert run.problem == ""
    assert schedules.validated([run]) == {}


# From logs to decisions.


def batch(base: int, epoch: int, *records: MetadataRecord, time_ms: int = 0, leader: int | None = None) -> Batch:
    return Batch(base, epoch, time_ms, records, leader)


def test_a_batch_is_split_where_the_controller_says_that_decisions_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "Becoming the active controller at epoch 4, next write offset 7.\n"
        "Read-write operation alterPartition(12) will be completed when the log reaches offset 9.\n"
        "Read-only operation maybeFenceStaleBroker(3) will be completed when the log reaches offset 9\n"
        "Read-write operation completeActivation[4](1) will be completed when the log reaches offset 10.\n"
    )
    found = list(decisions([batch(7, 4, leader=1), batch(8, 4, *[NO_OP] * 4)], {1: operations(log), 2: {}}))
    assert [(one.last_offset, one.operation, len(one.records)) for one in found] == [
        (7, "", 0), (9, "alterPartition", 2), (10, "completeActivation", 1), (11, "", 1),
    ]  # fmt: skip
    assert found[0].leader == 1


def test_what_a_majority_has_is_committed() -> None:
    first, second, lost, third = batch(0, 1), batch(1, 1), batch(2, 1), batch(2, 2)
    assert committed([[first, second, lost], [first, second, third], [first, second, third]]) == [first, second, third]
    assert committed([[first, second, lost], [first, second], [first]]) == [first, second]
    assert committed([[first, second]]) == [first, second]


def test_batches_are_read_up_to_one_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).mkdir()
    written = [
        batches.RecordBatch(0, 3, 50, (leader_change(LeaderChange(101, (100, 101), (101,))),), is_control=True),
        batches.RecordBatch(1, 3, 60, (batches.Record(encode(NO_OP)),)),
        batches.RecordBatch(2, 3, 70, (batches.Record(encode(NO_OP)),)),
    ]
    data = b"".join(map(batches.encode, written))
    segment = tmp_path / DIRECTORY / "00000000000000000000.log"
    segment.write_bytes(data[:-1])
    assert read(tmp_path) == [batch(0, 3, time_ms=50, leader=101), batch(1, 3, NO_OP, time_ms=60)]
    segment.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ApacheError, match="CRC"):
        read(tmp_path)
    shutil.rmtree(tmp_path / DIRECTORY)
    with pytest.raises(ApacheError, match="no segment"):
        read(tmp_path)


# From decisions to a trace.


def asked(time_ms: int, broker: int, operation: str = "processBrokerHeartbeat", fenced: int = 1) -> Decision:
    fields = {"brokerId": broker, "brokerEpoch": 5, "fenced": fenced}
    return Decision(time_ms, 1, time_ms, operation, (MetadataRecord("BROKER_REGISTRATION_CHANGE_RECORD", 3, fields),))


def test_what_was_done_stands_before_the_first_decision_that_is_younger() -> None:
    start, term = Done(5, START, 0), Done(25, SIGTERM, 1)
    assert placed_in([asked(10, 2), asked(20, 2), asked(30, 2)], [start, term]) == {0: [start], 2: [term]}
    assert placed_in([asked(10, 2)], [term]) == {1: [term]}


def test_a_death_stands_behind_what_its_broker_had_still_asked_for() -> None:
    crash = Done(15, CRASH, 0)
    assert placed_in([asked(10, 0), asked(20, 1), asked(30, 0), asked(40, 1)], [crash]) == {3: [crash]}
    assert placed_in([asked(10, 0), asked(20, 1), asked(3_000, 0)], [crash]) == {1: [crash]}
    assert placed_in([asked(20, 0, "maybeFenceStaleBroker")], [crash]) == {0: [crash]}
    again = Done(25, START, 0)
    assert placed_in([asked(20, 1), asked(30, 0)], [crash, again]) == {0: [crash], 1: [again]}


def test_what_unfences_a_broker_was_asked_for_before_it_was_told_to_stop_or_died() -> None:
    term, crash, again = Done(12, SIGTERM, 0), Done(15, CRASH, 0), Done(16, START, 0)
    late = asked(5_000, 0, fenced=-1)
    assert placed_in([asked(10, 1), late, asked(6_000, 1)], [term, crash, again]) == {2: [term, crash, again]}
    assert placed_in([asked(10, 1), registered(3_000, 0, 1), late], [crash]) == {1: [crash]}, "of the next process"


def test_a_process_begins_behind_what_the_one_before_has_asked_for() -> None:
    crash, start = Done(1_000, CRASH, 0), Done(2_300, START, 0)
    late, own = registered(2_680, 0, 1), registered(2_820, 0, 2)
    begun = replace(start, time_ms=2_819)
    assert placed_in([asked(10, 1), late, own], [crash, start], batch_ms=20) == {2: [crash, begun]}
    assert placed_in([asked(10, 1), own], [crash, start], batch_ms=20) == {1: [crash, start]}


def test_a_signal_stands_before_what_was_decided_for_it_in_a_batch_that_began_earlier() -> None:
    term = Done(25, SIGTERM, 0)
    assert placed_in([asked(10, 1), asked(20, 0)], [term]) == {1: [term]}
    assert placed_in([asked(10, 1), asked(20, 0)], [term], batch_ms=0) == {2: [term]}, "where times are exact"


def registered(time_ms: int, broker: int, incarnation: int) -> Decision:
    fields = {"brokerId": broker, "brokerEpoch": time_ms, "incarnationId": UUID(int=incarnation)}
    return Decision(time_ms, 1, time_ms, "registerBroker", (MetadataRecord("REGISTER_BROKER_RECORD", 0, fields),))


def test_a_refusal_stands_where_it_can_only_have_been_or_is_left_out() -> None:
    led, other = Decision(0, 1, 0, "", (), leader=100), asked(5_000, 1)
    run = [led, registered(1_000, 0, incarnation=7), other, registered(9_000, 0, incarnation=8)]
    refused = Refused(5_010, 5_020, 0, 100, UUID(int=8))
    assert refused_in(run, [refused]) == {3: [refused]}, "what is decided of others meanwhile does not count"
    for uncertain in (
        replace(refused, sent_ms=1_050),  # the registration of the one before may be younger
        replace(refused, controller=101),  # it did not lead
        replace(refused, incarnation=UUID(int=7)),  # of a process that is gone
        replace(refused, sent_ms=9_500, answered_ms=9_600),
    ):
        assert refused_in(run, [uncertain]) == {}


def test_a_change_keeps_what_its_record_lacks() -> None:
    first = Partition((0, 1, 2), (0, 1), 0, 3, 7, (2,), ())
    assert changed(first, {"isr": (1,), "leader": 1}) == replace(
        first, isr=(1,), leader=1, leader_epoch=4, partition_epoch=8
    )
    assert changed(first, {"addingReplicas": ()}) == replace(first, adding=(), partition_epoch=8)
    assert partition_state(replace(first, leader=-1, replicas=(2, 1, 0), adding=(0, 2))) == {
        "replicas": ["broker2", "broker1", "broker0"], "isr": ["broker0", "broker1"], "leader": None,
        "leader_epoch": 3, "partition_epoch": 7, "adding": ["broker2", "broker0"], "removing": [],
    }  # fmt: skip


# Scenarios.


def test_a_seed_gives_one_scenario_which_can_be_written_and_read(tmp_path: Path) -> None:
    for seed in range(60):
        steps = scenario.seeded(seed, 3, 3)
        assert steps == scenario.seeded(seed, 3, 3)
        (tmp_path / "s.json").write_text(scenario.written(steps))
        assert scenario.read(tmp_path / "s.json", 3, 3) == [replace(one, wait_s=round(one.wait_s, 3)) for one in steps]
    assert {one.do for seed in range(60) for one in scenario.seeded(seed, 3, 3)} == {
        *scenario.OF_BROKER, *scenario.OF_CONTROLLER, *scenario.OF_TOPIC,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[]", "a scenario is"),
        ('{"steps": []}', "a scenario is"),
        ('{"steps": [{"do": "dance"}]}', "step 1: \"do\" is one of kill"),
        ('{"steps": [{"do": "kill"}]}', "step 1: kill has broker, do, wait_s, not do"),
        ('{"steps": [{"do": "kill", "broker": 3}]}', "broker: 3 is none of 0 to 2"),
        ('{"steps": [{"do": "kill", "broker": true}]}', "True is none of"),
        ('{"steps": [{"do": "kill", "broker": 0, "wait_s": -1}]}', "wait_s is a number of seconds from 0 to 600"),
        ('{"steps": [{"do": "create", "topic": "t", "replicas": [1, 1]}]}', "a list of different brokers"),
        ('{"steps": [{"do": "cancel", "topic": 5}]}', "topic is the name of a topic"),
        ('{"steps": [{"do": "cut", "broker": 0, "way": "up"}]}', "way is one of both, out, in, not 'up'"),
        ('{"steps": [{"do": "heal", "broker": 0, "way": "in"}]}', "heal has broker, do, wait_s, not broker, do, way"),
        ('{"steps": [{"do": "delay", "broker": 0}]}', "delay has broker, delay_ms, do, wait_s, not broker, do"),
        ('{"steps": [{"do": "delay", "broker": 0, "delay_ms": "1"}]}', "delay_ms is a number of milliseconds"),
    ],
)  # fmt: skip
def test_a_scenario_that_cannot_be_read_says_where(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ApacheError) as raised:
        scenario.read(tmp_path / "s.json", 1, 3)
    assert says in str(raised.value) and "s.json" in str(raised.value)


# The command.


def test_without_jars_the_command_says_so_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_KAFKA", str(tmp_path / "none"))
    out = tmp_path / "run.ndjson"
    done = CliRunner().invoke(fencepost, ["trace", "record", "kafka", "--out", str(out)])
    assert done.exit_code == 2 and "there are no jars of Apache Kafka 4.3.1" in done.stderr
    assert not out.exists()


def test_a_seed_and_a_scenario_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{}")
    command = ["trace", "record", "kafka", "--seed", "1", "--scenario", str(tmp_path / "s.json")]
    done = CliRunner().invoke(fencepost, command)
    assert done.exit_code == 2 and "leave one of them out" in done.output
