"""Brokers as processes on a real ZooKeeper: seeded schedules are behaviours of the spec, and bad input costs nothing.

More schedules: `python -m tests.impl.pinning.schedules --count 2000 --done build/schedules.ndjson`.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from impl.pinning.messages import (
    DESCRIBE_CONTROLLER,
    PIN_CONTROLLER,
    ErrorCode,
    PinControllerRequest,
    read_pin_response,
)
from impl.pinning.tool import ask
from impl.pinning.tool import main as tool
from impl.pinning.znodes import NEXT, READY, STATE
from impl.runtime.wire import RequestHeader, frame, int32, request_bytes
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from tests.cluster.brokers import address_of
from tests.cluster.proxy import BOTH, Direction
from tests.cluster.recordings import NotBegunError, below
from tests.cluster.schedules import Run, rejected
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.pinning.cluster import BROKERS, Cluster
from tests.impl.pinning.history import History
from tests.impl.pinning.rolling import begin, settle
from tests.impl.pinning.schedules import SCHEDULES, SETUPS

pytestmark = pytest.mark.xdist_group("zookeeper")
RUNS = 50
UPGRADED = "tests/impl/pinning/upgraded.py"
AT_ONCE = 8
LIMIT_S = 15.0
PATIENT = {"zookeeper.session.timeout.ms": "10000"}
"""Where no session is to end, however slow the machine."""


@pytest.mark.long("real time: a minute or two of wall clock")
def test_seeded_schedules_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    runs = SCHEDULES.run_until_begun(range(RUNS), tmp_path, at_once=AT_ONCE)
    assert sorted(one.seed for one in runs) == list(range(RUNS))
    assert SCHEDULES.validate(runs, tmp_path).reasons == {}
    assert sum(one.figures["writes"] for one in runs if one.figures) > 10 * RUNS
    for setup in SETUPS:
        own = (one.trace for one in runs if SCHEDULES.setup_of(one.seed) is setup)
        lie = next(filter(None, (with_a_lie(trace, SETUPS.index(setup)) for trace in own)))
        assert list(SCHEDULES.validate([lie], tmp_path / f"lie in {setup.name}").reasons) == [lie.seed]


def with_a_lie(trace: str, seed: int) -> Run | None:
    """The same trace, in which a broker takes office that nobody ever elected; None where there is no such place."""
    lines = trace.splitlines(keepends=True)
    lines[0] = json.dumps({**json.loads(lines[0]), "name": f"seed {seed}"}) + "\n"
    never_elected = {f"broker{broker}" for broker in range(BROKERS)}
    for at, line in enumerate(lines):
        event = json.loads(line)
        if event.get("action") in ("run", "take_over"):
            never_elected.discard(event["parameters"]["broker"])
        if event.get("action") == "begin_term" and never_elected:
            lines[at] = json.dumps({**event, "parameters": {"broker": min(never_elected)}}) + "\n"
            return Run(seed, "".join(lines), None)
    return None


def test_a_run_whose_brokers_do_not_come_up_is_none(
    server: Ensemble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its requests and faults would come before what the spec takes for the beginning."""
    monkeypatch.setattr("tests.impl.pinning.cluster.START_LIMIT_S", 5.0)
    cluster = Cluster(server, f"/{tmp_path.name}", tmp_path, brokers=2)
    try:
        cluster.links[1].cut(*BOTH)
        with pytest.raises(NotBegunError, match="broker 1 did not start within 5 s"):
            cluster.begin()
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[Ensemble]:
    with zookeeper() as ensemble:
        yield ensemble


@pytest.fixture
def cluster(server: Ensemble, tmp_path: Path) -> Iterator[Cluster]:
    """Three brokers, of which broker 0 is in office."""
    started = Cluster(server, f"/{tmp_path.name}", tmp_path, further=PATIENT)
    try:
        started.begin()
        yield started
    finally:
        started.stop()


def exchange(address: tuple[str, int], data: bytes) -> bytes:
    """The bytes that come back until the connection is closed, or for a second."""
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(5)
        return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_tool_and_bad_input(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """One cluster for all of it: starting one takes seconds."""
    process = cluster.current[1]
    assert process is not None
    address = address_of(process.log)
    assert address is not None
    bootstrap = ["--bootstrap-server", f"{address[0]}:{address[1]}"]
    check_a_kafka_client(bootstrap)
    check_the_tool(bootstrap, capsys)
    check_frames(address)
    check_garbage(cluster, bootstrap, capsys)
    assert all(one is not None and one.is_alive for one in cluster.current)


def check_a_kafka_client(bootstrap: list[str]) -> None:
    """The Metadata request of a real client names the controller, and the new one after a move."""
    from kafka import KafkaAdminClient  # it warns when it is loaded

    client = KafkaAdminClient(bootstrap_servers=bootstrap[1], request_timeout_ms=15_000)
    try:
        assert client.describe_cluster()["controller_id"] == 0
        assert tool([*bootstrap, "--broker", "1", "--timeout-ms", "15000"]) == 0
        described = client.describe_cluster()
        assert described["controller_id"] == 1
        assert [broker["broker_id"] for broker in described["brokers"]] == [0, 1, 2]
    finally:
        client.close()


def check_the_tool(bootstrap: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert tool([*bootstrap, "--broker", "2", "--timeout-ms", "15000"]) == 0
    assert capsys.readouterr().out.startswith("broker 2 is controller, epoch ")
    assert tool([*bootstrap, "--broker", "2"]) == 0, "it is in office: nothing is written"
    assert tool([*bootstrap, "--describe", "--json"]) == 0
    described = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (described["controller_id"], described["target"], described["request_id"]) == (2, -1, -1)
    assert tool([*bootstrap, "--broker", "9"]) == 1
    assert "BROKER_NOT_AVAILABLE: broker 9 is not registered" in capsys.readouterr().err
    assert tool([*bootstrap, "--unpin"]) == 0
    assert tool([*bootstrap, "--broker", "x"]) == 2
    assert tool(["--bootstrap-server", "nowhere", "--describe"]) == 2
    assert tool(["--bootstrap-server", "127.0.0.1:1", "--describe"]) == 1


def check_frames(address: tuple[str, int]) -> None:
    """The connection is closed, or an error answered; never more."""
    assert exchange(address, b"\x7f\xff\xff\xff" + b"x" * 10) == b"", "oversized"
    assert exchange(address, b"\xff\xff\xff\xff") == b"", "of no size"
    assert exchange(address, frame(b"abc")) == b"", "no header"
    assert exchange(address, frame(b"abcdef")[:-2]) == b"", "truncated"
    assert exchange(address, frame(request_bytes(RequestHeader(999, 0, 1), b""))) == b"", "unknown key"
    answer = exchange(address, frame(request_bytes(RequestHeader(PIN_CONTROLLER, 7, 5), b"")))
    assert answer[4:8] == int32(5) and read_pin_response(answer[8:]).error_code == ErrorCode.UNSUPPORTED_VERSION
    answer = exchange(address, frame(request_bytes(RequestHeader(PIN_CONTROLLER, 0, 6), b"\0")))
    assert read_pin_response(answer[8:]).error_code == ErrorCode.INVALID_REQUEST
    answer = ask(*address, PIN_CONTROLLER, PinControllerRequest(-2, 0), 0)
    assert read_pin_response(answer).error_code == ErrorCode.INVALID_REQUEST
    assert exchange(address, frame(request_bytes(RequestHeader(DESCRIBE_CONTROLLER, 0, 8), b"")))[4:8] == int32(8)


def check_garbage(cluster: Cluster, bootstrap: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Garbage in a znode: a line in the log, nobody moves, and it is there until somebody replaces it."""
    process = cluster.current[2]
    assert process is not None
    before = cluster.admin.get(f"{cluster.root}{CONTROLLER}")
    for path, garbage in ((NEXT, b"broker two"), (READY, b'{"version":9}'), (READY, b"\xff\xfe")):
        if cluster.admin.exists(f"{cluster.root}{path}") is None:
            cluster.admin.create(f"{cluster.root}{path}", garbage)
        else:
            cluster.admin.set(f"{cluster.root}{path}", garbage)
        said = f"{path} holds"
        assert cluster.wait_for(lambda said=said: said in process.log.read_text(), LIMIT_S)  # type: ignore[misc]  # a default has no type
        assert cluster.admin.get(f"{cluster.root}{path}")[0] == garbage
    assert cluster.admin.get(f"{cluster.root}{CONTROLLER}")[1].czxid == before[1].czxid
    cluster.admin.delete(f"{cluster.root}{READY}")
    check_garbage_in_office(cluster)
    capsys.readouterr()
    assert tool([*bootstrap, "--broker", "0", "--timeout-ms", "15000"]) == 0
    assert capsys.readouterr().out.startswith("broker 0 is controller")


def check_garbage_in_office(cluster: Cluster) -> None:
    """Garbage in /controller moves nobody; without an epoch that is a number nobody is elected, until it is one."""
    logs = [one.log for one in cluster.current if one is not None]

    def all_say(what: str) -> bool:
        return all(what in log.read_text() for log in logs)

    for garbage in (b"{", b'{"version":1,"brokerid":-7}', b"\xff"):
        cluster.admin.set(f"{cluster.root}{CONTROLLER}", garbage)
    before = cluster.admin.get(f"{cluster.root}{CONTROLLER}")
    assert cluster.wait_for(lambda: all_say(f"{CONTROLLER} holds"), LIMIT_S)
    epoch, _ = cluster.admin.get(f"{cluster.root}{CONTROLLER_EPOCH}")
    cluster.admin.set(f"{cluster.root}{CONTROLLER_EPOCH}", b"next to last")
    assert cluster.admin.get(f"{cluster.root}{CONTROLLER}") == before
    cluster.admin.delete(f"{cluster.root}{CONTROLLER}")
    assert cluster.wait_for(lambda: all_say(f"{CONTROLLER_EPOCH} holds"), LIMIT_S)
    assert cluster.admin.exists(f"{cluster.root}{CONTROLLER}") is None
    cluster.admin.set(f"{cluster.root}{CONTROLLER_EPOCH}", epoch)
    assert cluster.wait_for(lambda: cluster.admin.exists(f"{cluster.root}{CONTROLLER}") is not None, LIMIT_S)


@pytest.mark.long("real time: a session ends, brokers start")
@pytest.mark.parametrize("session_ms", [20_000, 1_000], ids=["its session lives on", "its session ends"])
def test_a_controller_that_is_paused_in_the_middle_of_a_write_writes_no_more(
    server: Ensemble, tmp_path: Path, session_ms: int
) -> None:
    """SIGSTOP, with a write on its way that arrives once another was elected: it is refused, and so is all that it
    has yet to write when it wakes up."""
    further = {"zookeeper.session.timeout.ms": str(session_ms), "controller.write.interval.ms": "10"}
    cluster = Cluster(server, f"/{tmp_path.name}", tmp_path, further=further)

    def written() -> int:
        return int(cluster.by_hand(cluster.admin.get, STATE)[0] or 0)

    try:
        cluster.begin()
        former = cluster.current[0]
        assert former is not None and cluster.wait_for(lambda: written() == 1, LIMIT_S)
        cluster.links[0].cut(Direction.TO_SERVER)
        sent = cluster.by_hand(cluster.admin.get, STATE)[1].version
        time.sleep(0.2)  # ten writes' time: one is on its way
        assert cluster.by_hand(cluster.admin.get, STATE)[1].version <= sent + 1
        former.pause()
        if session_ms > 1_000:
            cluster.by_hand(cluster.admin.delete, CONTROLLER)
        assert cluster.wait_for(lambda: written() > 1, LIMIT_S), "another is elected, and writes"
        cluster.links[0].heal()
        time.sleep(0.5)  # the write arrives while its process is paused
        former.resume()
        ended = "write_refused" if session_ms > 1_000 else "session expired"
        assert cluster.wait_for(lambda: ended in former.trace.read_text() + former.log.read_text(), LIMIT_S)
        time.sleep(0.5)  # what it would write now
        last_zxid = cluster.last_zxid()
    finally:
        cluster.stop()
    log = [one for one in below(server.transactions(), cluster.root) if one.zxid <= last_zxid]
    figures = History(log, cluster.lives(), BROKERS).figures()
    assert (figures.late_writes, figures.epochs_issued_again, figures.elections) == (0, 0, 1)
    assert figures.writes > 10


@pytest.mark.long("real time: six restarts")
def test_an_upgrade_and_back_broker_by_broker_with_a_request_standing(server: Ensemble, tmp_path: Path) -> None:
    """Who is not upgraded may win and never resigns: the request is served once all are. Nobody moves for nothing."""
    cluster = Cluster(server, f"/{tmp_path.name}", tmp_path, legacy=3, further=PATIENT)
    try:
        cluster.begin()
        cluster.by_hand(cluster.admin.create, NEXT, b"1")
        zxids = [roll(cluster, broker, enables=True) for broker in range(3)]
        assert cluster.wait_for(cluster.is_quiet, LIMIT_S), "the request is served, and gone"
        assert json.loads(cluster.by_hand(cluster.admin.get, CONTROLLER)[0])["brokerid"] == 1
        zxids.append(roll(cluster, 2, enables=False))
        cluster.by_hand(cluster.admin.create, NEXT, b"2")
        zxids += [roll(cluster, broker, enables=False) for broker in (1, 0)]
        assert cluster.by_hand(cluster.admin.get, NEXT)[0] == b"2", "nobody knows of it any more, and it is kept"
        last_zxid = cluster.last_zxid()
    finally:
        cluster.stop()
    lives = cluster.lives()
    log = [one for one in below(server.transactions(), cluster.root) if one.zxid <= last_zxid]
    assert History(log, lives, BROKERS).figures().violated() == ["P9: a request stands at the end"]
    ends = pairwise([*zxids, last_zxid])
    parts = [History.stretch(log, lives, BROKERS, began=zxid, until=end) for zxid, end in ends]
    for number, (part, legacy) in enumerate(zip(parts, (2, 1, 0, 1, 2, 3), strict=True)):
        folder, run = tmp_path / f"part {number}", Run(number, part.trace(f"seed {number}", "upgraded"), None)
        assert rejected([run], UPGRADED, [f"legacy_brokers={legacy}"], folder) == {}
        if number == 1:
            assert rejected([run], UPGRADED, ["legacy_brokers=2"], folder / "a lie"), "broker 1 takes part"


def roll(cluster: Cluster, broker: int, *, enables: bool) -> int:
    """Stop a broker, and start it with the other version. Returns the zxid in between, when nobody moves."""
    cluster.enables[broker] = enables
    cluster.terminate(broker)
    settle(cluster)
    zxid = cluster.last_zxid()
    begin(cluster, broker)
    return zxid
