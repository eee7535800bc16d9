"""Ordinals: what is only compared and freshly issued needs no bound.

With brokers = n:

- `bumps`: n brokers, each takes a fresh epoch repeatedly. Those who never did share the first epoch at
  the bottom, the others are in the order of their last bump; with k of them that is n!/(n-k)! orders, and
  k = n gives the same orders as k = n-1. The sum over k < n of n!/(n-k)! is 10 for n = 3; each state is left
  by n steps: 31 generated; n-1 bumps reach all: depth n.
- `sessions`: n brokers register (a fresh epoch) and unregister (none). Ordered choices of k brokers: the sum
  over k <= n of n!/(n-k)!: 16 states for n = 3. A state with k registered is left by n + k steps:
  3 + 3*4 + 6*5 + 6*6 = 81, so 82 generated; depth n+1.
- `two_sorts`: a broker's broker epoch and leader epoch are bumped together. They are in the same order, so
  there are as many states as in `bumps`: the sorts are renumbered each for itself.
- `pair_in_one_step`: a step issues two epochs, the second above the first. That leads from first = second to
  first < second, which it keeps: 2 states, 3 generated, depth 2. In `swap` they also change places, and first
  > second is a third state: 1 + 3*2 = 7 generated, depth 3.
- `stale`: a request carries the epoch its sender had: it is absent, current or older: 3 states. Each takes a
  new registration and a send, and the two with a request an answer: 1 + 3*2 + 2 = 9 generated, depth 3.
  What epoch the answered request had leaves no trace.
- `upgraded`: a version is asked for, and answered while it is the present one: absent, present or older: 3
  states. Each takes a question and an upgrade, and the present one an answer: 1 + 3*2 + 1 = 8 generated, depth 3.
  `fixed`: without upgrades the sort is fixed: absent or present, 1 + 2 + 1 = 4 generated, depth 2.
"""

from __future__ import annotations

from checker.lang import (
    Identity,
    Map,
    Model,
    Option,
    Ordinal,
    action,
    constants,
    fresh,
    init,
    invariant,
    message,
    require,
    require_some,
    state,
    transition_invariant,
    witness,
)


@constants
class Cluster:
    brokers: int = 3
    "How many brokers."
    upgrades: bool = True
    "New versions are issued."


class Broker(Identity, size=lambda: Cluster.brokers): ...


class BrokerEpoch(Ordinal):
    """One for each registration."""


class LeaderEpoch(Ordinal):
    """One for each leader."""


class Version(Ordinal, fixed=lambda: not Cluster.upgrades):
    """One for each upgrade."""


@state
class Epochs:
    epoch: Map[Broker, BrokerEpoch]
    leader_epoch: Map[Broker, LeaderEpoch]


@init
def all_equal() -> Epochs:
    return Epochs(
        epoch=Map({b: BrokerEpoch(0) for b in Broker}),
        leader_epoch=Map({b: LeaderEpoch(0) for b in Broker}),
    )


@action(who="broker {broker}", source="-")
def bump(s: Epochs, broker: Broker) -> None:
    """A broker takes a fresh epoch."""
    s.epoch[broker] = fresh(s, BrokerEpoch)


@action(who="broker {broker}", source="-")
def bump_both(s: Epochs, broker: Broker) -> None:
    """A broker takes two fresh epochs, one of each sort."""
    s.epoch[broker] = fresh(s, BrokerEpoch)
    s.leader_epoch[broker] = fresh(s, LeaderEpoch)


@transition_invariant(source="-")
def newest_is_above_all(before: Epochs, after: Epochs) -> bool:
    """Whoever's epoch changed is above all others."""
    return all(
        before.epoch[b] == after.epoch[b] or all(b == c or after.epoch[b] > after.epoch[c] for c in Broker)
        for b in Broker
    )


@invariant(source="-")
def same_order(s: Epochs) -> bool:
    """Both sorts of epochs order the brokers alike."""
    return all((s.epoch[b] < s.epoch[c]) == (s.leader_epoch[b] < s.leader_epoch[c]) for b in Broker for c in Broker)


@witness
def strict_order(s: Epochs) -> bool:
    """All epochs differ."""
    return all(b == c or s.epoch[b] != s.epoch[c] for b in Broker for c in Broker)


@state
class Registry:
    session: Map[Broker, Option[BrokerEpoch]]


@init
def nobody() -> Registry:
    return Registry(session=Map({b: None for b in Broker}))


@action(who="broker {broker}", source="-")
def register(s: Registry, broker: Broker) -> None:
    """A broker registers, whether or not it was registered."""
    s.session[broker] = fresh(s, BrokerEpoch)


@action(who="broker {broker}", source="-")
def unregister(s: Registry, broker: Broker) -> None:
    """A broker's registration ends."""
    require(s.session[broker] is not None)
    s.session[broker] = None


@invariant(source="-")
def no_epoch_twice(s: Registry) -> bool:
    """No two sessions have the same epoch."""
    return all(b == c or s.session[b] is None or s.session[b] != s.session[c] for b in Broker for c in Broker)


@witness
def all_registered(s: Registry) -> bool:
    """Everybody has a session."""
    return all(s.session[b] is not None for b in Broker)


@state
class Two:
    first: BrokerEpoch
    second: BrokerEpoch


@init
def two_equal() -> Two:
    return Two(first=BrokerEpoch(0), second=BrokerEpoch(0))


@action(who="-", source="-")
def issue_two(s: Two) -> None:
    """Two epochs in one step."""
    s.first = fresh(s, BrokerEpoch)
    s.second = fresh(s, BrokerEpoch)


@action(who="-", source="-")
def swap(s: Two) -> None:
    """The two change places."""
    first = s.first
    s.first = s.second
    s.second = first


@transition_invariant(source="-")
def issued_above_both(before: Two, after: Two) -> bool:
    """New epochs are above both old ones; otherwise the two stay the same, perhaps swapped."""
    same = before.first in (after.first, after.second) and before.second in (after.first, after.second)
    return same or (after.first > before.first and after.first > before.second and after.second > after.first)


@message
class Request:
    epoch: BrokerEpoch


@state
class Channel:
    epoch: BrokerEpoch
    request: Option[Request]


@init
def idle() -> Channel:
    return Channel(epoch=BrokerEpoch(0), request=None)


@action(who="broker", source="-")
def register_again(s: Channel) -> None:
    """The broker's epoch changes, that of its request does not."""
    s.epoch = fresh(s, BrokerEpoch)


@action(who="broker", source="-")
def send(s: Channel) -> None:
    """The broker sends its epoch, in the place of what it sent before."""
    s.request = Request(epoch=s.epoch)


@action(who="controller", source="-")
def receive(s: Channel) -> None:
    """The controller takes a request of the current epoch."""
    request = require_some(s.request)
    require(request.epoch == s.epoch)
    s.request = None


@action(who="controller", source="-")
def refuse(s: Channel) -> None:
    """The controller refuses a request of an older epoch."""
    request = require_some(s.request)
    require(request.epoch < s.epoch)
    s.request = None


@invariant(source="-")
def no_request_from_the_future(s: Channel) -> bool:
    """A request's epoch was once the broker's."""
    return s.request is None or s.request.epoch <= s.epoch


@state
class Software:
    version: Version
    question: Option[Version]


@init
def nobody_asks() -> Software:
    return Software(version=Version(0), question=None)


@action(who="broker", source="-")
def upgrade(s: Software) -> None:
    """A new version."""
    s.version = fresh(s, Version)


@action(who="client", source="-")
def ask(s: Software) -> None:
    """A client asks for the present version."""
    s.question = s.version


@action(who="broker", source="-")
def answer(s: Software) -> None:
    """It is answered, unless it is too late."""
    require(s.question == s.version)
    s.question = None


@transition_invariant(source="-")
def old_question_stays(before: Software, after: Software) -> bool:
    """Only a question for the present version is answered."""
    return after.question is not None or before.question is None or before.question == before.version


@witness
def somebody_asks(s: Software) -> bool:
    """There is a question, and it can be answered."""
    return s.question == s.version


MODELS = [
    Model("bumps", "Fresh epochs forever.", all_equal, [bump], [newest_is_above_all, strict_order]),
    Model("sessions", "Epochs that come and go.", nobody, [register, unregister],
          [no_epoch_twice, all_registered]),
    Model("two_sorts", "Epochs of two sorts.", all_equal, [bump_both], [newest_is_above_all, same_order]),
    Model("pair_in_one_step", "Two epochs in one step.", two_equal, [issue_two], [issued_above_both]),
    Model("swap", "Epochs change places.", two_equal, [issue_two, swap], [issued_above_both]),
    Model("stale", "Old epochs are refused.", idle, [register_again, send, receive, refuse],
          [no_request_from_the_future]),
    Model("upgraded", "A sort that is issued.", nobody_asks, [upgrade, ask, answer], [old_question_stays]),
    Model("fixed", "A sort that is not.", nobody_asks, [ask, answer], [somebody_asks], {"upgrades": False}),
]  # fmt: skip
