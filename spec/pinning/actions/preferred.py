"""Preferred controllers (a public fork of Kafka 2.x and 3.0): a configured set, whose members register.

Others run only while no member is registered; without fallback they never run. A controller outside the set resigns
once a member is there. A member that starts is registered at once: the znode of its former session is never in its way.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, action, require
from spec.pinning.actions.sessions import is_dead
from spec.pinning.actions.target import hears
from spec.pinning.decisions.office import out_of_office
from spec.pinning.decisions.watching import after_pull, notified
from spec.pinning.state import Cluster, Member, takes_part
from spec.pinning.types import Broker, Path, Phase

Registered = Annotated[Member, MemberOf("members")]


@action(who="ZooKeeper", source="ZooKeeper, Sessions")
def end_dead_session_of_member(s: Cluster, member: Registered) -> None:
    """The session of a dead preferred broker ends, which is not in office."""
    require(is_dead(s, member.owner) and (s.controller is None or s.controller.owner != member.owner))
    s.members -= {member}
    s.brokers = notified(s, frozenset({Path.PREFERRED}))


@action(who="broker {broker}", source="linkedin/kafka, changes 42 and 211", kafka="PreferredControllerChangeHandler")
def hear_preferred(s: Cluster, broker: Broker) -> None:
    """A broker outside the set hears that its members have changed; if it takes part in an election, it begins again.

    A controller that finds members left is to resign: `resign_for_member`.
    """
    process = s.brokers[broker]
    require(hears(s, broker, Path.PREFERRED) and (process.phase != Phase.IN_OFFICE or len(s.members) == 0))
    process.events = process.events[1:]
    process.armed |= {Path.PREFERRED}
    if takes_part(process):
        if s.controller is None:
            s.brokers[broker] = after_pull(s, broker, s.brokers[broker])
        else:
            process.phase = Phase.WATCHING
            process.waits_for = None


@action(who="broker {broker}", source="linkedin/kafka, changes 42 and 211", kafka="PreferredControllerChangeHandler")
def resign_for_member(s: Cluster, broker: Broker) -> None:
    """A controller outside the set hears that a member is there, and resigns."""
    process = s.brokers[broker]
    require(hears(s, broker, Path.PREFERRED) and process.phase == Phase.IN_OFFICE and len(s.members) > 0)
    deletes = s.controller is not None and s.epoch == process.epoch
    s.brokers[broker] = out_of_office(process)
    s.brokers[broker].events = s.brokers[broker].events[1:]
    s.brokers[broker].armed |= {Path.PREFERRED}
    if deletes:
        s.controller = None
        s.brokers = notified(s, frozenset({Path.CONTROLLER}))
