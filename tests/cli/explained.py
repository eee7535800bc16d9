"""A small cluster that goes wrong in one step, in a way that each property below says in other words.

Every property holds in the first state. In the second, broker 1 leads: it is fenced, and not in the ISR.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Identity,
    Map,
    Model,
    Option,
    Range,
    Seq,
    Set,
    action,
    init,
    invariant,
    require,
    state,
    transition_invariant,
    witness,
)
from checker.lang.values import AtMost

Epoch = Annotated[int, Range(0, 3)]


class Broker(Identity, size=3): ...


Log = Annotated[Seq[Broker], AtMost(2)]


@state
class Cluster:
    leader: Option[Broker]
    isr: Set[Broker]
    fenced: Map[Broker, bool]
    epoch: Epoch
    log: Log


@init
def healthy() -> Cluster:
    return Cluster(
        leader=Broker(0),
        isr=frozenset({Broker(0), Broker(2)}),
        fenced=Map({b: b == Broker(1) for b in Broker}),
        epoch=1,
        log=(),
    )


@action(who="active controller", source="-")
def elect_the_wrong_one(s: Cluster) -> None:
    """The fenced broker becomes leader, and the epoch goes back."""
    require(s.epoch == 1)
    s.leader = Broker(1)
    s.epoch = 0


def may_lead(s: Cluster, broker: Broker) -> bool:
    return broker in s.isr and not s.fenced[broker]


def leads_well(s: Cluster, broker: Broker) -> bool:
    if s.leader != broker:
        return True
    if s.fenced[broker]:
        return False
    return broker in s.isr


@invariant(source="-")
def conjunction(s: Cluster) -> bool:
    """The second conjunct is false."""
    return s.epoch < 3 and s.leader in s.isr and s.epoch > 5


@invariant(source="-")
def implication(s: Cluster) -> bool:
    """Both sides of the `or` are false."""
    return s.leader is None or s.leader in s.isr


@invariant(source="-")
def for_all(s: Cluster) -> bool:
    """False for broker 1."""
    return all(s.leader != b or not s.fenced[b] for b in Broker)


@invariant(source="-")
def never_any(s: Cluster) -> bool:
    """There is one after all."""
    return not any(s.leader == b and s.fenced[b] for b in Broker)


@invariant(source="-")
def not_both(s: Cluster) -> bool:
    """Both are true."""
    return not (s.leader is not None and s.epoch == 0)


@invariant(source="-")
def by_helper(s: Cluster) -> bool:
    """The helper's first conjunct is false."""
    return s.leader is None or may_lead(s, s.leader)


@invariant(source="-")
def by_early_return(s: Cluster) -> bool:
    """The helper returns False from inside an if."""
    return all(leads_well(s, broker) for broker in Broker)


@invariant(source="-")
def by_choice(s: Cluster) -> bool:
    """The second branch is false."""
    return s.epoch == 3 if s.leader is None else s.leader in s.isr


@invariant(source="-")
def by_local_name(s: Cluster) -> bool:
    """The local name has a value to show."""
    fenced = frozenset(b for b in Broker if s.fenced[b])
    return s.leader not in fenced


@invariant(source="-")
def by_named_claims(s: Cluster) -> bool:
    """The second claim is false."""
    led = s.leader is not None
    led_from_isr = s.leader is None or s.leader in s.isr
    return led and led_from_isr


@invariant(source="-")
def by_two_helpers(s: Cluster) -> bool:
    """False for broker 1, in both."""
    return all(leads_well(s, b) or may_lead(s, b) for b in Broker)


def gone_back(s: Cluster) -> bool:
    if s.epoch == 0:
        return True
    return False


@invariant(source="-")
def by_early_success(s: Cluster) -> bool:
    """The helper returns True from inside an if."""
    return not gone_back(s)


def leads_fenced(s: Cluster, broker: Broker) -> bool:
    return s.leader == broker and s.fenced[broker]


@invariant(source="-")
def by_helpers_of_two_brokers(s: Cluster) -> bool:
    """A fenced broker leads while another might: `broker` is a different one in each helper."""
    return all(not leads_fenced(s, b) or not may_lead(s, other) for b in Broker for other in Broker)


def led_from_isr(s: Cluster) -> bool:
    return s.leader in s.isr


@transition_invariant(source="-")
def by_helper_of_two_states(before: Cluster, after: Cluster) -> bool:
    """`s` is a different state in each call of the helper."""
    return not led_from_isr(before) or led_from_isr(after)


@transition_invariant(source="-")
def epoch_rises(before: Cluster, after: Cluster) -> bool:
    """The epoch goes back."""
    return before.epoch <= after.epoch


@invariant(source="-")
def breaks_down(s: Cluster) -> bool:
    """Reads a log that is empty."""
    return s.epoch == 1 or s.log[0] == s.leader


@witness
def reads_the_log(s: Cluster) -> bool:
    """Reads a log that is empty, from the start."""
    return s.log[0] == Broker(0)


SAYINGS = [
    conjunction,
    implication,
    for_all,
    never_any,
    not_both,
    by_helper,
    by_early_return,
    by_choice,
    by_local_name,
    by_named_claims,
    by_two_helpers,
    by_early_success,
    by_helpers_of_two_brokers,
    by_helper_of_two_states,
    epoch_rises,
    breaks_down,
]
MODELS = [
    Model("sayings", "One bad state, said in many ways.", healthy, [elect_the_wrong_one], SAYINGS[1:]),
    Model("blind", "A witness that cannot be evaluated.", healthy, [elect_the_wrong_one], [reads_the_log]),
]
