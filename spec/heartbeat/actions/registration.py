"""Registration: the ephemeral znode of a broker's id, its czxid, and how a controller reads it."""

from __future__ import annotations

from checker.lang import action, fresh, require, require_some
from spec.heartbeat.decisions.leases import has_to_wait, lives_by_its_znode
from spec.heartbeat.decisions.partition import is_settled
from spec.heartbeat.decisions.registry import (
    going_by,
    highest,
    is_legacy_registration,
    record_after,
    seen_id,
    with_state,
)
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, Registration, believes_in_office, is_counted, is_legacy, is_registered
from spec.heartbeat.types import Broker, BrokerState, Controller, Incarnation, Process, broker_id


@action(
    who="process {process}",
    source="KIP-343, Broker Incarnation ID",
    kafka="KafkaZkClient.registerBroker",
    deviates="a process whose session has ended learns of it here, at the latest; while another owns the znode the "
    "create is refused, and tried again: an ephemeral znode is not overwritten",
)
def register(s: Cluster, process: Process) -> None:
    """A process creates the ephemeral znode of its id: after a start, or with a new session and the same memory."""
    own = s.processes[process]
    broker = broker_id(process)
    require(own.up and s.ids[broker] is None)
    require(Design.registration_retried or own.owned is not None or own.incarnation is None)
    issued = fresh(s, Incarnation)
    s.ids[broker] = Registration(process, issued, is_legacy(own))
    own.owned = issued
    own.incarnation = None
    own.heartbeat = None
    for controller in Controller:
        if Design.views == 0:
            s.controllers[controller].missing -= {broker}
    if Design.heartbeats and Design.reregistration_fences and not is_legacy(own):
        own.fenced = True


@action(
    who="process {process}",
    source="KIP-343, Broker Incarnation ID (in order to get this ID); design switch czxid_with_create",
    deviates="without czxid_with_create the znode is read afterwards, and may be another's by then",
)
def take_incarnation(s: Cluster, process: Process) -> None:
    """A process that has registered takes its incarnation from the reply of its create."""
    own = s.processes[process]
    owned = require_some(own.owned)
    registration = s.ids[broker_id(process)]
    require(own.up and own.incarnation is None and (Design.czxid_with_create or registration is not None))
    own.incarnation = owned if Design.czxid_with_create or registration is None else registration.czxid


@action(who="ZooKeeper", source="ZooKeeper, Sessions")
def expire_session(s: Cluster, process: Process) -> None:
    """The session of a live process ends, and its znode with it. Its client has yet to learn of that."""
    require(s.processes[process].up and is_registered(s, process))
    require(s.faults.expiries < Design.max_expiries)
    s.ids[broker_id(process)] = None
    s.faults.expiries += 1


@action(who="ZooKeeper", source="ZooKeeper, Sessions")
def end_dead_session(s: Cluster, broker: Broker) -> None:
    """The session of a dead process ends, and its znode with it."""
    require(s.ids[broker] is not None)
    require(not any(broker_id(p) == broker and s.processes[p].up and is_registered(s, p) for p in Process))
    s.ids[broker] = None


@action(who="controller", source="ZooKeeper, Consistency Guarantees (a follower may lag)")
def catch_up(s: Cluster, controller: Controller, broker: Broker) -> None:
    """The follower of ZooKeeper that a controller reads from catches up."""
    registration = s.ids[broker]
    czxid = None if registration is None else registration.czxid
    require(Design.views > 0 and s.controllers[controller].view[broker] != czxid)
    s.controllers[controller].view[broker] = czxid
    s.controllers[controller].missing -= {broker}


@action(
    who="controller {controller}",
    source="KIP-343, Broker Incarnation ID; Motivation (alive while its znode is); Compatibility, Deprecation, and "
    "Migration Plan (legacy registration)",
    kafka="KafkaController.processBrokerChange (newBrokers, bouncedBrokers, deadBrokers)",
    deviates="with supersedes_after_lease a znode that is gone says nothing: heartbeats count no more, and the lease "
    "runs out",
)
def read_ids(s: Cluster, controller: Controller, broker: Broker) -> None:
    """A controller reads /brokers/ids: it goes by a new incarnation, and a broker whose znode is gone has failed."""
    own = s.controllers[controller]
    require(believes_in_office(own) and is_settled(own))
    require(is_new(s, controller, broker) or is_gone(s, controller, broker))
    czxid = seen_id(s, controller, broker)
    legacy = is_legacy_registration(s.ids[broker])
    if czxid is None:
        s.controllers[controller] = with_state(own, broker, BrokerState.INACTIVE)
        s.controllers[controller].missing |= {broker}
    else:
        s.controllers[controller] = going_by(own, broker, czxid, legacy)
        s.gone_by[broker] = highest(s, broker, s.controllers[controller].known[broker])
        s.record = record_after(s, controller, broker)


def is_new(s: Cluster, controller: Controller, broker: Broker) -> bool:
    """The incarnation in /brokers/ids is higher than the one that the controller goes by, and need not wait."""
    czxid = seen_id(s, controller, broker)
    known = s.controllers[controller].known[broker]
    higher = czxid is not None and (known is None or known < czxid)
    return higher and not has_to_wait(s, controller, broker, czxid)


def is_gone(s: Cluster, controller: Controller, broker: Broker) -> bool:
    """The znode of a broker is gone, which is news, and the broker is active, or stopping, while its znode is there."""
    own = s.controllers[controller]
    by_znode = not Design.supersedes_after_lease or lives_by_its_znode(own, broker)
    is_news = seen_id(s, controller, broker) is None and broker not in own.missing
    return is_news and is_counted(own.states[broker]) and by_znode
