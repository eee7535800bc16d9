"""Registration of brokers (S1, S2): ids, incarnations and broker epochs, requests and replies, unregistering.

Where a property speaks of an incarnation it means the broker epoch that its registration got: S2 makes the two one.
A reply is judged by the states before and after the step that gave it, whatever code wrote it: by what the controller
that answered knew, and by what it knows from then on.
Leaves out: that a reply comes at all, where nothing shows that the request was not lost.
"""

from __future__ import annotations

from checker.lang import Option, invariant, leads_to, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.messages import Heartbeat, LifecycleReply, LifecycleRequest, Register, RegisterReply
from spec.kraft.metadata import Metadata, Partition, active_brokers, is_unfenced
from spec.kraft.processes import BrokerProcess, is_alive
from spec.kraft.state import Cluster, Controller, another_is_alive, committed
from spec.kraft.types import Broker, BrokerEpoch, BrokerState, Error, Process, Role, TopicPartition, Voter, node_id


def holds_id(image: Metadata, sender: Process, epoch: BrokerEpoch) -> bool:
    registration = image.registrations[node_id(sender)]
    return registration is not None and registration.broker_epoch == epoch


def is_registered(s: Cluster, process: Process) -> bool:
    epoch = s.processes[process].broker_epoch
    return epoch is not None and holds_id(committed(s), process, epoch)


@transition_invariant(source="KIP-631, Broker Registration (S1)")
def superseded_incarnation_changes_nothing(before: Cluster, after: Cluster) -> bool:
    """The heartbeat or AlterIsr of an incarnation that the controller knows to be superseded changes nothing there.

    Registrations are not part of this: a UUID does not show which of two incarnations is the older, so the
    late registration of a dead process takes the id from a live one that is still fenced.
    """
    return all(
        not isinstance(m, Heartbeat)
        or after.lifecycle.count(m) == before.lifecycle.count(m)
        or changes_nothing(before, after, m.to, m.sender, m.broker_epoch)
        for m in before.lifecycle
    ) and all(
        after.alterations.count(m) == before.alterations.count(m)
        or changes_nothing(before, after, m.to, m.sender, m.broker_epoch)
        for m in before.alterations
    )


def changes_nothing(before: Cluster, after: Cluster, voter: Voter, sender: Process, epoch: BrokerEpoch) -> bool:
    """The controller has the sender registered at this broker epoch, or decides what it had decided before."""
    image = before.controllers[voter].image
    return holds_id(image, sender, epoch) or after.controllers[voter].image == image


@invariant(source="KIP-631, Broker Registration (S1)")
def leader_epoch_has_one_incarnation(s: Cluster) -> bool:
    """One leader epoch is never served by two incarnations, at once or one after the other."""
    return all(serves_alone(s, process, p) for process in Process for p in TopicPartition)


def serves_alone(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if served is None or replica.leadership is None or replica.leader_epoch != served.leader_epoch:
        return True
    return s.processes[process].broker_epoch == served.broker_epoch


@transition_invariant(source="KIP-631, Broker Registration (S2)")
def broker_epochs_rise(before: Cluster, after: Cluster) -> bool:
    """From one incarnation of a broker id to the next the broker epoch rises, and an incarnation keeps its own.

    Without an operator that unregisters it, a broker stays registered.
    """
    return all(epoch_rises(before, after, broker) for broker in Broker)


def epoch_rises(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = committed(before).registrations[broker], committed(after).registrations[broker]
    if old is None:
        return True
    if new is None:
        return Design.max_unregistrations > 0
    if old.incarnation == new.incarnation:
        return old.broker_epoch == new.broker_epoch
    return old.broker_epoch < new.broker_epoch


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts")
def valid_session_keeps_its_id(before: Cluster, after: Cluster) -> bool:
    """While its lease has not run out, the id of a broker that is unfenced goes to no other incarnation."""
    return all(session_keeps_id(before, after, voter, broker) for voter in Voter for broker in Broker)


def session_keeps_id(before: Cluster, after: Cluster, voter: Voter, broker: Broker) -> bool:
    old, new = before.controllers[voter], after.controllers[voter]
    if old.role != Role.ACTIVE or new.role != Role.ACTIVE or old.epoch != new.epoch:
        return True  # what it has is another's decision
    if not is_unfenced(old.image, broker) or broker in old.expired_leases:
        return True
    held, holds = old.image.registrations[broker], new.image.registrations[broker]
    return held is None or holds is None or held.incarnation == holds.incarnation


# Requests and replies.


def is_in_flight(broker: BrokerProcess, request: LifecycleRequest) -> bool:
    """The process that sent the request still waits for its reply."""
    if request.late:
        return False
    if isinstance(request, Register):
        return broker.incarnation == request.incarnation
    return isinstance(request, Heartbeat) and broker.broker_epoch == request.broker_epoch


@invariant(source="Kafka, BrokerLifecycleManager (one request in flight)")
def one_request_at_a_time(s: Cluster) -> bool:
    """A process waits for the reply to one registration or heartbeat at a time."""
    return all(requests_in_flight(s, process) <= 1 for process in Process)


def requests_in_flight(s: Cluster, process: Process) -> int:
    broker = s.processes[process]
    requests = sum(1 for m in s.lifecycle if m.sender == process and is_in_flight(broker, m))
    return requests + (0 if broker.reply is None else 1)


def is_handled(before: Cluster, after: Cluster, request: LifecycleRequest) -> bool:
    """The step took the request off the network."""
    return after.lifecycle.count(request) < before.lifecycle.count(request)


@transition_invariant(source="KIP-631, Broker Registration; Handling Broker ID Conflicts")
def registration_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """A registration is answered to the process that waits, and once: with the epoch at which it is registered now, and
    as heard of, or as a duplicate of another, which is unfenced and has a lease that is not over, and keeps the id.
    """
    return all(
        before.processes[process].reply is not None
        or not isinstance(after.processes[process].reply, RegisterReply)
        or any(
            isinstance(m, Register)
            and m.sender == process
            and is_handled(before, after, m)
            and is_in_flight(before.processes[process], m)
            and answers_registration(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].reply
            )
            for m in before.lifecycle
        )
        for process in Process
    )


def answers_registration(
    before: Controller, after: Controller, request: Register, reply: Option[LifecycleReply]
) -> bool:
    if not isinstance(reply, RegisterReply):
        return False
    broker = node_id(request.sender)
    old, new = before.image.registrations[broker], after.image.registrations[broker]
    if reply.error == Error.NONE:
        is_held = new is not None and new.incarnation == request.incarnation and new.broker_epoch == reply.broker_epoch
        return is_held and broker not in after.expired_leases
    has_session = is_unfenced(before.image, broker) and broker not in before.expired_leases
    is_another = old is not None and old.incarnation != request.incarnation
    refused = reply.error == Error.DUPLICATE_BROKER_REGISTRATION and reply.broker_epoch is None
    return refused and has_session and is_another and old == new


@transition_invariant(source="KIP-631, Broker Registration")
def registered_process_gets_reply(before: Cluster, after: Cluster) -> bool:
    """A process that is registered by the request that it waits for gets a reply."""
    return all(
        not isinstance(m, Register)
        or not is_handled(before, after, m)
        or not is_in_flight(before.processes[m.sender], m)
        or before.controllers[m.to].image.registrations == after.controllers[m.to].image.registrations
        or after.processes[m.sender].reply is not None
        for m in before.lifecycle
    )


@transition_invariant(source="KIP-631, Broker Registration; Broker Leases")
def decision_takes_its_request(before: Cluster, after: Cluster) -> bool:
    """A request is decided about once: an id is registered, and a broker unfenced, with a request of it gone."""
    return all(is_decided_once(before, after, voter, broker) for voter in Voter for broker in Broker)


def is_decided_once(before: Cluster, after: Cluster, voter: Voter, broker: Broker) -> bool:
    old = before.controllers[voter].image.registrations[broker]
    new = after.controllers[voter].image.registrations[broker]
    if not is_active_throughout(before, after, voter) or new is None or old == new:
        return True
    if old is not None and old.broker_epoch == new.broker_epoch and new.fenced:
        return True
    return any(node_id(m.sender) == broker and is_handled(before, after, m) for m in before.lifecycle)


def is_active_throughout(before: Cluster, after: Cluster, voter: Voter) -> bool:
    """A change in the image of an active controller is a decision of its own."""
    return before.controllers[voter].role == Role.ACTIVE and after.controllers[voter].role == Role.ACTIVE


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts; UnregisterBroker")
def only_the_stale_end(before: Cluster, after: Cluster) -> bool:
    """A process that ends, where nobody asked it to, has crashed, or its id was taken or unregistered."""
    return before.faults.crashes != after.faults.crashes or all(
        not is_alive(before.processes[process])
        or is_alive(after.processes[process])
        or has_lost_its_id(before, process)
        for process in Process
    )


def has_lost_its_id(s: Cluster, process: Process) -> bool:
    return s.processes[process].broker_epoch is not None and not is_registered(s, process)


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts")
def process_that_starts_was_down(before: Cluster, after: Cluster) -> bool:
    """A process that starts was not running: an incarnation is that of one run."""
    return all(
        after.processes[process].state != BrokerState.STARTING
        or before.processes[process].state in {BrokerState.NOT_RUNNING, BrokerState.STARTING}
        for process in Process
    )


@leads_to(source="KIP-631, Handling Broker ID Conflicts; UnregisterBroker")
def stale_process_is_gone(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process whose id was taken by another incarnation, or unregistered, does not live on for ever."""
    broker = s.processes[process]
    stale = is_alive(broker) and broker.broker_epoch is not None and not is_registered(s, process)
    return stale, not stale


@leads_to(source="KIP-631, UnregisterBroker")
def live_broker_is_registered(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process of an id that nobody is registered under gets the id registered again, or is gone."""
    lacks_id = is_alive(s.processes[process]) and committed(s).registrations[node_id(process)] is None
    return lacks_id, not lacks_id


@witness
def two_hold_an_epoch(s: Cluster) -> bool:
    """Two processes of one id were registered one after the other, and neither has heard of it."""
    return any(
        one != other
        and node_id(one) == node_id(other)
        and s.processes[one].broker_epoch is not None
        and s.processes[other].broker_epoch is not None
        for one in Process
        for other in Process
    )


@leads_to(source="KIP-631, Broker Registration")
def starting_process_is_registered(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that starts gets a broker epoch, although replies are lost and its id may have to be given up first."""
    broker = s.processes[process]
    return is_alive(broker), not is_alive(broker) or broker.broker_epoch is not None


# Witnesses.


@witness
def duplicate_registration_refused(s: Cluster) -> bool:
    """A registration over a valid session gets DUPLICATE_BROKER_REGISTRATION."""
    return any(is_duplicate(s.processes[process].reply) for process in Process)


def is_duplicate(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, RegisterReply) and reply.error == Error.DUPLICATE_BROKER_REGISTRATION


@witness
def two_processes_of_one_id(s: Cluster) -> bool:
    """Two processes of one broker id are alive at once."""
    return any(is_alive(s.processes[process]) and another_is_alive(s, process) for process in Process)


@witness
def late_registration(s: Cluster) -> bool:
    """A registration is under way on a connection that its sender has given up."""
    return any(isinstance(m, Register) and m.late for m in s.lifecycle)


@witness
def reply_of_registration_lost(s: Cluster) -> bool:
    """A process is registered and does not know it, and no message under way informs it (KAFKA-16952)."""
    return any(is_registered_unheard(s, process) for process in Process)


def is_registered_unheard(s: Cluster, process: Process) -> bool:
    registration, broker = committed(s).registrations[node_id(process)], s.processes[process]
    if registration is None or broker.incarnation is None or broker.reply is not None:
        return False
    return registration.incarnation == broker.incarnation and not any(m.sender == process for m in s.lifecycle)


@witness
def live_broker_unregistered(s: Cluster) -> bool:
    """A process runs whose id is not registered: it leads and follows nobody, and its heartbeats are stale."""
    image = committed(s)
    return any(
        s.processes[process].state == BrokerState.RUNNING and image.registrations[node_id(process)] is None
        for process in Process
    )


@witness
def last_member_unregistered(s: Cluster) -> bool:
    """The last member of an ISR is not registered, and stays, without being leader."""
    image = committed(s)
    return any(has_unregistered_last(image, image.partitions[p]) for p in TopicPartition)


def has_unregistered_last(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or len(partition.isr) != 1:
        return False
    return any(image.registrations[member] is None for member in partition.isr)


@witness
def unregistered_broker_returns(s: Cluster) -> bool:
    """A broker that was unregistered has started and registered again, and is unfenced."""
    return s.faults.unregistrations > 0 and s.faults.crashes > 0 and len(active_brokers(committed(s))) == len(Broker)
