"""Faults, each within its budget: crashes, hangs, abstentions that lapse too early, failures on taking office.

A pause that ends is a delay, and every step may be late; what others do meanwhile is an early lapse or the end of a
session. So a hang is for good. Lost replies are with the writes (`answered`), a `ready` that is removed late with its
creation (`removed`), the ends of sessions in `sessions`.
"""

from __future__ import annotations

from checker.lang import action, replace, require, require_some
from spec.pinning.decisions.office import is_coming
from spec.pinning.decisions.watching import forgotten
from spec.pinning.design import Design
from spec.pinning.state import Cluster, believes_in_office, owns_office, runs
from spec.pinning.types import Broker, Phase, ProcessState


@action(who="broker {broker}", source="KIP-39, Possible gotchas (a)")
def crash(s: Cluster, broker: Broker) -> None:
    """A broker dies. Its session lives on for a while."""
    process = s.brokers[broker]
    require(process.state != ProcessState.DOWN and s.faults.crashes < Design.max_crashes)
    s.brokers[broker] = replace(forgotten(process), state=ProcessState.DOWN, session=None, heard=())
    s.faults.crashes += 1


@action(who="broker {broker}", source="KIP-39, Possible gotchas (the document has no broker that hangs)")
def hang(s: Cluster, broker: Broker) -> None:
    """A broker outside office hangs: its session lives on, it does nothing more."""
    process = s.brokers[broker]
    require(runs(process) and not believes_in_office(process) and not owns_office(s, broker))
    require(s.faults.hangs < Design.max_hangs)
    s.brokers[broker] = replace(forgotten(process), state=ProcessState.HUNG)
    s.faults.hangs += 1


@action(who="broker {broker}", source="design switch abstention_lapses (the document has nothing like it)")
def lapse_early(s: Cluster, broker: Broker) -> None:
    """A broker has abstained for too long, and the one that it waits for was about to come."""
    process = s.brokers[broker]
    require(Design.abstention_lapses and runs(process) and process.phase == Phase.ABSTAINS)
    require(is_coming(s, require_some(process.waits_for)) and s.faults.early_lapses < Design.max_early_lapses)
    process.phase = Phase.LAPSED
    s.faults.early_lapses += 1


@action(who="broker {broker}", source="KIP-39, Changes in the election code (c)")
def become_unable(s: Cluster, broker: Broker) -> None:
    """From now on a broker fails whenever it takes office."""
    require(broker not in s.unable and not believes_in_office(s.brokers[broker]))
    require(s.faults.office_failures < Design.max_office_failures)
    s.unable |= {broker}
    s.faults.office_failures += 1
