"""The model that stretches of an upgrade are validated on: each begins with one broker down, between two versions.

Which brokers are legacy is a constant of the spec. So a whole upgrade is no behaviour of one model, and each stretch of
it, from a broker's stop to the next one's, is one of a model with its own constant.
"""

from __future__ import annotations

import dataclasses

from checker.lang import Map, init, replace, require
from spec.pinning.decisions.watching import forgotten, standing_watches
from spec.pinning.initial import running
from spec.pinning.state import BrokerProcess, Cluster, Controller, Faults, NextController
from spec.pinning.types import Broker, ControllerEpoch, EpochVersion, Path, Phase, ProcessState, is_legacy
from spec.zookeeper.sessions import Session
from spec.zookeeper.tree import CREATED, Zxid
from tests.impl.pinning.recorded import MODELS as RECORDED


@init
def one_is_down(controller: Broker, down: Broker, target: Broker, asked: bool) -> Cluster:
    """A broker is in office, one is down, and the others know; a request may stand, once it was made."""
    require(controller != down)
    first = ControllerEpoch(0)
    return Cluster(
        controller=Controller(controller, Session(controller.index)),
        epoch=first,
        epoch_version=EpochVersion(0),
        next_controller=NextController(target, CREATED, Zxid(0)) if asked else None,
        ready=None,
        members=frozenset(),
        written=(first,),
        brokers=Map({b: at_rest(b, b == controller, b == down, first) for b in Broker}),
        unable=frozenset(),
        wanted=target if asked else None,
        asked=(),
        moves=0,
        faults=Faults(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    )


def at_rest(broker: Broker, leads: bool, is_down: bool, epoch: ControllerEpoch) -> BrokerProcess:
    """A broker that has nothing to do: it is in office, knows who is, or is down."""
    process = running(broker, epoch)
    if is_down:
        return replace(forgotten(process), state=ProcessState.DOWN, session=None, heard=())
    looks = leads and not is_legacy(broker)
    return replace(
        process,
        phase=Phase.IN_OFFICE if leads else Phase.WATCHING,
        epoch=epoch if leads else None,
        armed=standing_watches(broker) | (frozenset({Path.READY}) if looks else frozenset()),
    )


MODELS = [
    dataclasses.replace(
        RECORDED[0],
        name="upgraded",
        doc="As recorded, from the moment on at which one broker is down for its upgrade.",
        init=one_is_down,
    )
]
