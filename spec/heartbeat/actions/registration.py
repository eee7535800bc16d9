"""Registration: the ephemeral znode of a broker's id, its czxid, and how a controller reads it."""

from __future__ import annotations

from checker.lang import action, fresh, require, require_some
from spec.heartbeat.decisions.leases import has_to_wait
from spec.heartbeat.decisions.partition import is_settled
from spec.heartbeat.decisions.registry import adopting, highest, lives_by_its_znode, seen_id, with_state
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
    issued = fresh(s, Incarnation)
    s.ids[broker] = Registration(process, issued, is_legacy(own))
    own.owned = issued
    own.incarnation = issued if Design.czxid_with_create else None
    own.heartbeat = None
    if Design.heartbeats and Design.reregistration_fences and not is_legacy(own):
        own.fenced = True


@action(who="process {process}", source="KIP-343, Broker Incarnation ID; design switch czxid_with_create")
def read_incarnation(s: Cluster, process: Process) -> None:
    """A process reads its incarnation from the znode, which may be another's by now."""
    own = s.processes[process]
    require(own.up and own.owned is not None and own.incarnation is None)
    registration = require_some(s.ids[broker_id(process)])
    own.incarnation = registration.czxid


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


@action(
    who="controller {controller}",
    source="KIP-343, Broker Incarnation ID; Compatibility, Deprecation, and Migration Plan (legacy registration)",
    kafka="KafkaController.processBrokerChange (newBrokers, bouncedBrokers)",
)
def see_registration(s: Cluster, controller: Controller, broker: Broker) -> None:
    """A controller reads a new incarnation in /brokers/ids, and goes by it. A legacy broker is active at once."""
    own = s.controllers[controller]
    czxid = require_some(seen_id(s, controller, broker))
    known = own.known[broker]
    require(believes_in_office(own) and is_settled(own) and (known is None or known < czxid))
    require(not has_to_wait(s, controller, broker, czxid))
    registration = s.ids[broker]
    legacy = registration is not None and registration.legacy
    by_znode = legacy or not Design.heartbeats
    adopted = adopting(own, broker, czxid)
    counts = adopted.known[broker] == czxid
    legacies = own.legacy | {broker} if legacy else own.legacy - {broker}
    s.controllers[controller] = with_state(adopted, broker, BrokerState.ACTIVE) if counts and by_znode else adopted
    if counts:
        s.controllers[controller].legacy = legacies
        s.gone_by[broker] = highest(s, broker, czxid)


@action(
    who="controller {controller}",
    source="KIP-343, Motivation (alive while its znode is); Compatibility, Deprecation, and Migration Plan",
    kafka="KafkaController.processBrokerChange (deadBrokers), onBrokerFailure",
)
def see_departure(s: Cluster, controller: Controller, broker: Broker) -> None:
    """A controller reads that a broker's znode is gone, and takes the broker for failed."""
    own = s.controllers[controller]
    require(believes_in_office(own) and is_settled(own) and is_counted(own.states[broker]))
    require(seen_id(s, controller, broker) is None)
    require(not Design.supersedes_after_lease or lives_by_its_znode(own, broker))
    s.controllers[controller] = with_state(own, broker, BrokerState.INACTIVE)
