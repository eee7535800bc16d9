"""The leader's half of the assignor: what it dies of, which version it answers in, who gets which tasks."""

from __future__ import annotations

from checker.lang import Map, Option, Set
from spec.streams.decisions.behaviour import is_as_set, is_since_2_4
from spec.streams.decisions.tasks import Previous, assigned
from spec.streams.design import Design
from spec.streams.state import Assignment, Cluster, Hosts, Owners, Subscription, supports
from spec.streams.types import Cause, Process, Task, Thread, Version, process_of


def is_future(s: Cluster, leader: Thread, thread: Thread) -> bool:
    """A member has sent a version that the leader does not know."""
    subscription = s.group.subscriptions[thread]
    return subscription is not None and subscription.used > supports(s, leader)


def is_probe(s: Cluster, leader: Thread) -> bool:
    """Some member has."""
    return any(is_future(s, leader, t) for t in Thread)


def readable(subscription: Option[Subscription], own: Version) -> Version:
    """The version of a subscription that the leader can read, else its own."""
    return own if subscription is None or subscription.used > own else subscription.used


def lowest_received(s: Cluster, leader: Thread) -> Version:
    """The lowest version that was sent, or the leader's own."""
    own = supports(s, leader)
    return min(readable(s.group.subscriptions[t], own) for t in Thread)


def lowest_supported(s: Cluster, leader: Thread) -> Version:
    """The lowest of what the members say that they support, readable in future subscriptions, too."""
    own = supports(s, leader)
    return min(said_supported(s.group.subscriptions[t], own) for t in Thread)


def said_supported(subscription: Option[Subscription], otherwise: Version) -> Version:
    return otherwise if subscription is None else subscription.supported


def offered(s: Cluster, leader: Thread) -> Version:
    """The supported version that assignments carry."""
    by_minimum = looks_for_minimum(s, leader) and Design.minimum_is_encoded
    return lowest_supported(s, leader) if by_minimum else supports(s, leader)


def looks_for_minimum(s: Cluster, leader: Thread) -> bool:
    """Whether the leader has KAFKA-8649."""
    return Design.group_minimum and is_since_2_4(s, leader)


def is_mixed(s: Cluster, leader: Thread) -> bool:
    """A future subscription stands beside one of version 1 or 2."""
    return is_probe(s, leader) and lowest_received(s, leader) < 3


def kills(s: Cluster, leader: Thread) -> Option[Cause]:
    """What the leader dies of when it looks at the subscriptions, if anything."""
    if not is_probe(s, leader):
        return None
    if supports(s, leader) < 3 or not Design.future_is_probed:
        return Cause.FUTURE_SUBSCRIPTION
    if is_mixed(s, leader) and not (Design.mixed_is_survived and is_as_set(s, leader)):
        return Cause.FUTURE_BESIDE_OLD
    return None


def is_given_tasks(s: Cluster, leader: Thread, thread: Thread) -> bool:
    """A member gets tasks, if there are enough."""
    if not is_future(s, leader, thread):
        return s.group.subscriptions[thread] is not None
    return Design.future_gets_tasks and is_since_2_4(s, leader) and not is_mixed(s, leader)


def next_owners(s: Cluster, leader: Thread) -> Owners:
    """Who owns what in the generation that the leader assigns, if all of it is."""
    eligible = frozenset(t for t in Thread if is_given_tasks(s, leader, t))
    previous: Previous = Map({t: had(s, leader, t) for t in Thread})
    return assigned(previous, eligible)


def had(s: Cluster, leader: Thread, thread: Thread) -> Set[Task]:
    """The tasks that a member says it had. Of a version that the leader does not know, only the versions are read."""
    subscription = s.group.subscriptions[thread]
    return frozenset() if subscription is None or is_future(s, leader, thread) else subscription.previous


def share_of(s: Cluster, leader: Thread, thread: Thread, owners: Owners) -> Set[Task]:
    """The tasks of a member."""
    if not is_given_tasks(s, leader, thread):
        return frozenset()
    if is_probe(s, leader) and not (Design.probe_moves_tasks and is_since_2_4(s, leader)):
        return kept_in_probe(s, leader, thread)
    return frozenset(task for task in Task if owners[task] == thread)


def kept_in_probe(s: Cluster, leader: Thread, thread: Thread) -> Set[Task]:
    """What a thread keeps where a probe moves nothing."""
    if Design.thread_keeps_its_own and is_since_2_4(s, leader):
        return had(s, leader, thread)
    return frozenset(
        task for task in Task if any(process_of(t) == process_of(thread) and task in had(s, leader, t) for t in Thread)
    )


def listed(s: Cluster, leader: Thread, owners: Owners) -> Hosts:
    """Which tasks each process is listed with. That of who probes is not: its endpoint cannot be read."""
    version = version_of_answers(s, leader)
    return Map(
        {
            p: frozenset(
                task
                for task in Task
                if Design.tasks > 0
                and version > 1
                and any(process_of(t) == p and is_listed(s, leader, t, task, owners) for t in Thread)
            )
            for p in Process
        }
    )


def is_listed(s: Cluster, leader: Thread, thread: Thread, task: Task, owners: Owners) -> bool:
    """A task is listed as one of a thread's process."""
    if is_future(s, leader, thread):
        return False
    if Design.lists_what_is_given and is_since_2_4(s, leader):
        return task in share_of(s, leader, thread, owners)
    return owners[task] == thread


def version_of_answers(s: Cluster, leader: Thread) -> Version:
    """The version that a leader answers in."""
    own = supports(s, leader)
    return own if own < 3 and not Design.answers_in_lowest else lowest_received(s, leader)


def answer(s: Cluster, leader: Thread, thread: Thread, owners: Owners) -> Option[Assignment]:
    """The assignment of a member."""
    own, lowest = supports(s, leader), version_of_answers(s, leader)
    if s.group.subscriptions[thread] is None:
        return None
    tasks = share_of(s, leader, thread, owners)
    empty = is_future(s, leader, thread) and not is_given_tasks(s, leader, thread)
    if empty and not is_mixed(s, leader) and not looks_for_minimum(s, leader):
        return Assignment(own, own, tasks, error=False)
    return Assignment(lowest, lowest if lowest < 3 else offered(s, leader), tasks, error=False)


def error_answer(s: Cluster, leader: Thread, thread: Thread) -> Option[Assignment]:
    """What a member is sent where a source topic is missing."""
    if s.group.subscriptions[thread] is None:
        return None
    version = lowest_received(s, leader) if Design.error_in_readable_version else supports(s, leader)
    return Assignment(version, version, frozenset(), error=True)
