"""The state that models start from: every broker runs, broker 0 is in office, and nothing was ever asked for."""

from __future__ import annotations

from checker.lang import Map, init
from spec.pinning.decisions.watching import standing_watches
from spec.pinning.design import Design
from spec.pinning.state import BrokerProcess, Cluster, Controller, Faults, Member
from spec.pinning.types import Broker, ControllerEpoch, EpochVersion, Path, Phase, ProcessState, is_legacy, is_preferred
from spec.zookeeper.sessions import Session


@init
def broker_0_in_office() -> Cluster:
    """Every broker runs, broker 0 is in office, and nothing was ever asked for."""
    first = ControllerEpoch(0)
    return Cluster(
        controller=Controller(Broker(0), Session(0)),
        epoch=first,
        epoch_version=EpochVersion(0),
        next_controller=None,
        ready=None,
        members=frozenset(Member(b, Session(b.index)) for b in Broker if is_preferred(b)),
        written=(first,) * Design.writes,
        brokers=Map({b: running(b, first) for b in Broker}),
        unable=frozenset(),
        wanted=None,
        asked=(),
        moves=0,
        faults=Faults(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    )


def running(broker: Broker, epoch: ControllerEpoch) -> BrokerProcess:
    """A broker that runs; broker 0 took office at `epoch`."""
    leads = broker == Broker(0)
    watches_absent = Design.office_reads_ready and Design.watch_where_absent
    reads_ready = Design.pinning and not Design.takeover and watches_absent and not is_legacy(broker)
    return BrokerProcess(
        state=ProcessState.UP,
        session=Session(broker.index),
        expired=False,
        phase=Phase.IN_OFFICE if leads else Phase.WATCHING,
        waits_for=None,
        epoch=epoch if leads else None,
        decided=(),
        heard=(epoch,) * Design.writes,
        seen=(),
        armed=standing_watches(broker) | (frozenset({Path.READY}) if leads and reads_ready else frozenset()),
        events=(),
    )
