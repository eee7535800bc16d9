"""Liveness properties (P7 to P11). Fairness is given in the models, to what heals.

Perturbations are bounded, so that every behaviour has its last one: what must hold in the end holds after that.
"""

from __future__ import annotations

from checker.lang import eventually_always, leads_to
from spec.pinning.decisions.office import must_hand_over
from spec.pinning.state import Cluster, is_in_office, is_target, owns_ready, runs
from spec.pinning.types import Broker, Path, Phase, ProcessState


def somebody_in_office(s: Cluster) -> bool:
    """A broker is in office, as it believes and as ZooKeeper has it."""
    return any(is_in_office(s, broker) for broker in Broker)


@leads_to(source="KIP-39, Possible gotchas (never without a controller while brokers are up) (P8)")
def there_is_a_controller(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """Where a broker runs, somebody is in office in the end."""
    return runs(s.brokers[broker]), somebody_in_office(s) or not runs(s.brokers[broker])


@leads_to(source="KIP-39, Changes in the election code (c) (P9)")
def target_takes_office(s: Cluster, target: Broker) -> tuple[bool, bool]:
    """The target of the newest request takes office, unless it stops running, or is given up."""
    waits = s.wanted == target and s.brokers[target].state == ProcessState.UP
    return waits, not waits


@leads_to(source="KIP-39, Proposed Change (P5)")
def ready_is_taken_back(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that has `ready`, and for which no request stands, takes it back, unless it stops running."""
    stays = owns_ready(s, broker) and runs(s.brokers[broker]) and not is_target(s, broker)
    return stays, not stays


@eventually_always(source="KIP-39, Motivation (minimize controller moves) (P10)")
def moves_end(s: Cluster) -> bool:
    """From some time on somebody is in office, and stays."""
    return somebody_in_office(s)


@leads_to(source="KIP-39, Changes in the election code (c) (P7)")
def unaware_winner_hands_over(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A controller that was elected although another is ready for its request hands over."""
    owes = s.brokers[broker].phase == Phase.IN_OFFICE and s.ready is not None and must_hand_over(s, broker)
    return owes, not owes


@leads_to(source="linkedin/kafka, changes 42 and 211")
def change_of_members_is_handled(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that hears of the preferred ones looks at them, unless it stops running."""
    waits = Path.PREFERRED in s.brokers[broker].events and runs(s.brokers[broker])
    return waits, not waits


@leads_to(source="KIP-39, New or Changed Public Interfaces (the document has no answer) (P11)")
def request_is_answered(s: Cluster) -> tuple[bool, bool]:
    """An operator who asked gets an answer, whatever becomes of the target."""
    waits = any(asked.answer is None for asked in s.asked)
    return waits, not waits
