"""The election: a broker that knows of no controller pulls `ready`, and then runs for the office or abstains."""

from __future__ import annotations

from checker.lang import action, fresh, require, require_some
from spec.pinning.actions.target import elected, hears, ready_as_set
from spec.pinning.decisions.office import (
    asked_after_election,
    is_coming,
    out_of_office,
    ready_after_election,
    request_after_election,
    wanted_after_election,
)
from spec.pinning.decisions.watching import after_pull, may_renew_ready, notified, path_if, with_ready
from spec.pinning.design import Design
from spec.pinning.state import BrokerProcess, Cluster, Controller, believes_in_office, owns_office, runs
from spec.pinning.types import Broker, ControllerEpoch, EpochVersion, Path, Phase, is_preferred


def is_barred(broker: Broker) -> bool:
    """A broker that never runs: it is outside the preferred set, and there is no fallback."""
    return Design.preferred and not Design.fallback and not is_preferred(broker)


def may_run(process: BrokerProcess, broker: Broker) -> bool:
    """Its decision is to run for the office."""
    return process.phase == Phase.LAPSED or (
        process.phase == Phase.PULLED and process.waits_for is None and not is_barred(broker)
    )


@action(
    who="broker {broker}",
    source="KIP-39, Handling the admin request (g); Changes in the election code (a)",
    kafka="KafkaController.processReelect, onControllerResignation",
)
def hear_controller(s: Cluster, broker: Broker) -> None:
    """A broker hears that `/controller` is gone. It leaves office, if it believed to be in it, and pulls `ready`."""
    process = s.brokers[broker]
    require(hears(s, broker, Path.CONTROLLER))
    process.events = process.events[1:]
    if Design.loser_watches or s.controller is not None:
        process.armed |= {Path.CONTROLLER}
    if not owns_office(s, broker):
        if believes_in_office(process):
            s.brokers[broker] = out_of_office(s.brokers[broker])
        phase = s.brokers[broker].phase
        if s.controller is None and (phase == Phase.WATCHING or phase == Phase.ABSTAINS):
            s.brokers[broker] = after_pull(s, broker, s.brokers[broker])


@action(
    who="broker {broker}",
    source="KIP-39, Possible gotchas (II), (III)",
    deviates="the document has the event as a sign of fresh elections; it is also the target's to set `ready` anew, "
    "where that of its former session was in the way (ready_renewed)",
)
def hear_ready(s: Cluster, broker: Broker) -> None:
    """A broker outside office hears that `ready` has changed; if it takes part in an election, it begins again."""
    require(hears(s, broker, Path.READY) and not believes_in_office(s.brokers[broker]))
    s.brokers[broker].events = s.brokers[broker].events[1:]
    if may_renew_ready(s, broker):
        s.ready = ready_as_set(s, broker)
        s.brokers = notified(s, frozenset({Path.READY}))
    phase = s.brokers[broker].phase
    decides = phase == Phase.PULLED or phase == Phase.LAPSED
    if phase == Phase.ABSTAINS or (decides and Design.pulls_again):
        if s.controller is None:
            s.brokers[broker] = after_pull(s, broker, s.brokers[broker])
        else:
            s.brokers[broker].phase = Phase.WATCHING
            s.brokers[broker].waits_for = None
            s.brokers[broker].armed = with_ready(s, s.brokers[broker].armed)


@action(who="broker {broker}", source="KIP-39, Changes in the election code (b)")
def abstain(s: Cluster, broker: Broker) -> None:
    """A broker that has seen another one in `ready` does not take part in the election."""
    process = s.brokers[broker]
    require(runs(process) and process.phase == Phase.PULLED)
    require(process.waits_for is not None or is_barred(broker))
    if s.controller is None:
        process.phase = Phase.ABSTAINS
    else:
        process.phase = Phase.WATCHING
        process.waits_for = None


@action(who="broker {broker}", source="design switch abstention_lapses (the document has nothing like it)")
def lapse(s: Cluster, broker: Broker) -> None:
    """A broker has abstained for too long: the one that it waits for is dead, hangs, or does not come."""
    process = s.brokers[broker]
    require(Design.abstention_lapses and runs(process) and process.phase == Phase.ABSTAINS and not is_barred(broker))
    require(not is_coming(s, require_some(process.waits_for)))
    process.phase = Phase.LAPSED


@action(
    who="broker {broker}",
    source="KIP-39, Changes in the election code (c)",
    kafka="KafkaZkClient.registerControllerAndIncrementControllerEpoch",
    deviates="what the multi deletes it has read in the same step: it checks versions, and an election that deletes a "
    "request raises the epoch, which it checks, too: a multi that fails is repeated from what is there then. An absent "
    "znode has no version to check",
)
def run(s: Cluster, broker: Broker, answered: bool, missed: bool) -> None:
    """A broker creates `/controller`, raises the epoch, and ends the request that it serves or gives up.

    A request that came once it had read `next` is missed: it stands, and the broker has yet to hear of it.
    """
    process = s.brokers[broker]
    require(runs(process) and may_run(process, broker) and s.controller is None)
    session = require_some(process.session)
    require(answered or s.faults.lost_replies < Design.max_lost_replies)
    issued = fresh(s, ControllerEpoch) if Design.epoch_with_office else s.epoch
    standing, ready = request_after_election(s, broker, missed), ready_after_election(s, broker)
    if missed:
        require(Path.NEXT in process.events and request_after_election(s, broker, False) != standing)
    ended, taken_back = standing != s.next_controller, ready != s.ready
    s.wanted = wanted_after_election(s, broker, missed)
    s.asked = tuple(asked_after_election(asked, broker) for asked in s.asked)
    s.moves = min(s.moves + 1, Design.counted_moves)
    s.controller = Controller(broker, session)
    s.epoch = issued
    s.epoch_version = fresh(s, EpochVersion) if Design.epoch_with_office else s.epoch_version
    s.next_controller = standing
    s.ready = ready
    if answered:
        s.brokers[broker] = elected(s.brokers[broker], issued if Design.epoch_with_office else None)
    else:
        s.faults.lost_replies += 1
    ends = path_if(ended, Path.NEXT)
    goes = path_if(taken_back, Path.READY)
    s.brokers = notified(s, frozenset({Path.CONTROLLER}) | ends | goes)


@action(who="broker {broker}", source="KIP-39, Changes in the election code", kafka="KafkaController.elect")
def lose_election(s: Cluster, broker: Broker) -> None:
    """A broker that runs finds another's `/controller`, and watches on."""
    process = s.brokers[broker]
    has_lost = process.phase == Phase.LOST
    require(runs(process) and (has_lost or may_run(process, broker)))
    require(has_lost or (s.controller is not None and not (owns_office(s, broker) and Design.outcome_read_back)))
    process.phase = Phase.WATCHING if has_lost or Design.loser_watches else Phase.LOST
    process.waits_for = None
    if has_lost:
        process.armed |= {Path.CONTROLLER}


@action(
    who="broker {broker}",
    source="design switch outcome_read_back",
    kafka="KafkaZkClient.CheckedEphemeral, registerControllerAndIncrementControllerEpoch (compares owner and epoch)",
)
def find_own_office(s: Cluster, broker: Broker) -> None:
    """A broker that had no reply to its multi finds `/controller` and the epoch as it wrote them: it is elected."""
    process = s.brokers[broker]
    require(runs(process) and not believes_in_office(process) and owns_office(s, broker))
    require(Design.outcome_read_back)
    s.brokers[broker] = elected(process, s.epoch if Design.epoch_with_office else None)
