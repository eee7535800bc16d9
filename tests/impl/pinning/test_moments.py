"""Faults at one moment of a hand-over, on a real ZooKeeper: a target that is paused, and a lost leader in each multi.

Seeded schedules hit these moments by chance; here each is hit. All runs are behaviours of the spec.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.exceptions import NoNodeError

from impl.pinning.znodes import NEXT, READY, STATE
from impl.zookeeper.office import CONTROLLER
from impl.zookeeper.znodes import read_controller
from tests.cluster.proxy import Direction
from tests.cluster.recordings import below
from tests.cluster.schedules import Run, rejected
from tests.cluster.zookeeper import Ensemble, has_multi, zookeeper
from tests.impl.pinning.cluster import BROKERS, Cluster
from tests.impl.pinning.figures import Figures
from tests.impl.pinning.history import History
from tests.impl.pinning.schedules import TAKEOVER

pytestmark = pytest.mark.xdist_group("zookeeper")
LIMIT_S = 30.0
DOWN_S = 1.0
PATIENT = {"zookeeper.session.timeout.ms": "20000", "controller.pinning.abstain.timeout.ms": "60000"}
"""Where neither a session nor an abstention is to end, however slow the machine."""


@pytest.fixture(scope="module")
def server() -> Iterator[Ensemble]:
    with zookeeper() as ensemble:
        yield ensemble


def stands(cluster: Cluster, path: str) -> bytes | None:
    """The data of a znode; None: it is not there."""
    try:
        data: bytes = cluster.by_hand(cluster.admin.get, path)[0]
    except NoNodeError:
        return None
    return data


def in_office(cluster: Cluster) -> int | None:
    data = stands(cluster, CONTROLLER)
    return None if data is None else read_controller(CONTROLLER, data)


def judged(cluster: Cluster, server: Ensemble, last_zxid: int, folder: Path, *constants: str) -> Figures:
    """The figures of a run up to this zxid, which the spec accepts and in which nothing is violated."""
    log = [one for one in below(server.transactions(), cluster.root) if one.zxid <= last_zxid]
    history = History(log, cluster.lives(), BROKERS, until=last_zxid)
    trace = history.trace("seed 0", "recorded")
    assert rejected([Run(0, trace, None)], "tests/impl/pinning/recorded.py", constants, folder / "judged") == {}
    figures = history.figures()
    assert figures.violated() == []
    return figures


def cut_0_and_pin_1(cluster: Cluster) -> None:
    """The controller does not hear of `ready`."""
    cluster.links[0].cut(Direction.TO_CLIENT)
    cluster.pin(2, 1)
    assert cluster.wait_for(lambda: stands(cluster, READY) is not None, LIMIT_S)


@pytest.mark.long("real time: sessions and abstentions end")
@pytest.mark.parametrize(
    ("session_ms", "abstain_ms", "all_abstain", "is_served", "moves"),
    [(20_000, 60_000, True, True, 1), (20_000, 500, False, False, 1), (1_000, 60_000, False, True, 2)],
    ids=["it goes on in time", "abstentions lapse", "its session ends"],
)
def test_a_target_that_is_paused_between_ready_and_office(
    server: Ensemble, tmp_path: Path, session_ms: int, abstain_ms: int, all_abstain: bool, is_served: bool, moves: int
) -> None:
    """SIGSTOP as soon as its `ready` is there: the controller resigns for it, and the others abstain for a while."""
    further = {
        "zookeeper.session.timeout.ms": str(session_ms),
        "controller.pinning.abstain.timeout.ms": str(abstain_ms),
    }
    cluster = Cluster(server, f"/{tmp_path.name}", tmp_path, further=further)
    try:
        cluster.begin()
        target = cluster.current[1]
        assert target is not None
        cut_0_and_pin_1(cluster)  # else the controller might be gone before the target is paused
        target.pause()
        cluster.links[0].heal()
        assert cluster.wait_for(lambda: in_office(cluster) != 0, LIMIT_S), "the controller has resigned"
        if all_abstain:
            time.sleep(1.0)
            assert in_office(cluster) is None, "all others abstain"
        else:
            assert cluster.wait_for(lambda: in_office(cluster) in (0, 2), LIMIT_S), "somebody is elected all the same"
        target.resume()
        assert cluster.wait_for(cluster.is_quiet, LIMIT_S)
        if is_served:
            assert cluster.wait_for(lambda: in_office(cluster) == 1, LIMIT_S), "the request is served"
        last_zxid = cluster.last_zxid()
    finally:
        cluster.stop()
    assert judged(cluster, server, last_zxid, tmp_path).elections == moves


def holding(*texts: bytes) -> Callable[[bytes], bool]:
    return lambda data: has_multi(data) and all(text in data for text in texts)


def pin_1(cluster: Cluster) -> None:
    cluster.pin(2, 1)


def ask_who_is_in_office(cluster: Cluster) -> None:
    cluster.by_hand(cluster.admin.create, NEXT, b"0")


def ask_0_instead(cluster: Cluster) -> None:
    """Broker 0, which is cut, does nothing about a `ready` that is in its way; another target would."""
    cluster.by_hand(cluster.admin.set, NEXT, b"0")


@dataclass(frozen=True)
class Moment:
    """A multi: who sends it, what is in it, and what makes its broker send it."""

    broker: int
    texts: tuple[bytes, ...]
    begin: Callable[[Cluster], None] = pin_1
    further: tuple[tuple[str, str], ...] = ()
    first: Callable[[Cluster], None] | None = None
    constants: tuple[str, ...] = ()


MOMENTS = {
    "a request is written": Moment(2, (NEXT.encode(), b"/admin")),
    "ready is created": Moment(1, (READY.encode(), b'"broker')),
    "the controller resigns": Moment(0, (CONTROLLER.encode(),)),
    "the target is elected": Moment(1, (b'"brokerid"',)),
    "a controller writes": Moment(0, (STATE.encode(),), lambda _: None, (("controller.write.interval.ms", "100"),)),
    "a request for the controller is settled": Moment(0, (NEXT.encode(),), ask_who_is_in_office),
    "ready is taken back": Moment(1, (READY.encode(),), ask_0_instead, first=cut_0_and_pin_1),
    "the target takes over": Moment(
        1, (b'"brokerid"',), further=(("controller.pinning.takeover", "true"),),
        constants=TAKEOVER,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Ensemble]:
    with zookeeper(3) as started:
        yield started


@pytest.mark.long("real time: an ensemble elects a leader")
@pytest.mark.parametrize("name", MOMENTS)
def test_the_leader_of_the_ensemble_is_killed_in_a_multi(ensemble: Ensemble, tmp_path: Path, name: str) -> None:
    """The reply is lost, whether it was done or not: it is read back, and the request is served."""
    moment, killed = MOMENTS[name], threading.Event()
    cluster = Cluster(ensemble, f"/{tmp_path.name}", tmp_path, further={**PATIENT, **dict(moment.further)})
    try:
        cluster.begin()
        if moment.first is not None:
            moment.first(cluster)
        leader = ensemble.leader()
        assert leader is not None

        def kill() -> None:
            if not killed.is_set():  # each link to a server loses a reply
                leader.kill()
                killed.set()

        cluster.links[moment.broker].lose_reply(kill, holding(*moment.texts))
        moment.begin(cluster)
        assert killed.wait(LIMIT_S), "the multi was never sent"
        assert cluster.wait_for(lambda: ensemble.leader() is not None, LIMIT_S), "the two others elect one"
        ensemble.start()
        for links in cluster.links:
            links.heal()
        assert cluster.wait_for(cluster.is_quiet, LIMIT_S)
        last_zxid = cluster.last_zxid()
    finally:
        cluster.stop()
    judged(cluster, ensemble, last_zxid, tmp_path, *moment.constants)
