"""Sizes, releases, fault budgets and design switches of the KIP-268 spec, and the settings with a name.

A switch that is True has its guard in force; False removes that guard and nothing else. Budgets bound perturbations
only (crashes, expiries of live sessions, coordinator failovers, rollbacks): joins, rejoins, expiries of dead members
and restarts are never bounded.
"""

from __future__ import annotations

from checker.lang import assume, constants
from spec.streams.releases import Behaviour, Release, version_of


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, an upgrade by probing, and no faults."""

    processes: int = 3
    "Processes (KafkaStreams instances)."
    threads: int = 1
    "Stream threads of a process. Each is a member of the group."
    tasks: int = 0
    "Tasks. With 0, assignments are of versions only."
    from_release: Release = Release.R1_2
    "The release that all processes run at the start."
    to_release: Release = Release.POST_1_2
    "The release that they are upgraded to."
    then_release: Release = Release.NONE
    "The release that they are upgraded to after that, if any."
    meet: Behaviour = Behaviour.AS_SET
    "How members behave where releases meet, beside what the switches say."

    max_crashes: int = 0
    "Budget of processes that die. They start again."
    max_expiries: int = 0
    "Budget of sessions that end under a live member."
    max_failovers: int = 0
    "Budget of failovers of the group coordinator."
    max_rollbacks: int = 0
    "Budget of processes that are put back to what they ran before their last bounce."
    max_missing_topics: int = 0
    "Budget of assignments in which the leader finds that a source topic is missing."
    max_lost_replies: int = 0
    "Budget of answers to a JoinGroup or a SyncGroup that are lost with their connection."
    rebalances: int = 0
    "Rebalances that may complete after the last perturbation. With 0 they are not counted."

    sets_upgrade_from: bool = True
    "The operator sets upgrade.from in the first of two bounces where the old release cannot probe. Off: forgotten."
    rolls_in_turn: bool = True
    "A roll begins once the one before has come to every process. Off: rolls overlap."
    first_roll_ends: bool = True
    "With rolls_in_turn off: the first roll ends before others begin. Off: upgrade.from is removed too early."
    waits_for_stable: bool = False
    "The operator bounces no process while the group rebalances. The document does not ask for it."
    offline: bool = False
    "The operator stops all processes, and starts them with the new release and without upgrade.from."

    answers_in_lowest: bool = True
    "KAFKA-6054: a leader of version 2 answers in the lowest version that it was sent. Off: always in version 2."
    future_is_probed: bool = True
    "A leader that is sent a version that it does not know answers with those it knows. Off: it dies."
    mixed_is_survived: bool = True
    """A future subscription beside one of version 1 or 2: its sender gets an empty assignment in the lowest version,
    and owns nothing until the old ones are gone. Off: the leader dies."""
    group_minimum: bool = True
    "KAFKA-8649: an assignment says which version all members support. Off: which its leader does."
    minimum_is_encoded: bool = True
    "KAFKA-9053: the minimum that was computed is what is written. Off: the leader's own version."
    own_bound: bool = True
    "A member takes over no version that it does not support itself."
    lower_sender_rises_at_once: bool = True
    "A member whose used version rises rejoins. Off: it sends the new version with somebody else's rebalance."
    leader_rises_at_once: bool = True
    "With lower_sender_rises_at_once off: the leader rejoins nevertheless."
    rejoins_only_on_change: bool = True
    "A member rejoins only if its used version has changed. Off: also if it received less than it sent."
    rejoin_keeps_membership: bool = True
    "KAFKA-9525: a member rejoins with its member id. Off: it unsubscribes, which is to leave, and subscribes."
    unique_field: bool = True
    "KAFKA-10455: no two subscriptions of a member that wants a rebalance are alike."
    probe_moves_tasks: bool = True
    "In a probe, tasks are assigned as ever. Off: everybody keeps what it had, and the tasks of the others wait."
    thread_keeps_its_own: bool = True
    "With probe_moves_tasks off: a thread keeps what it had. Off: what all threads of its process had."
    lists_what_is_given: bool = True
    """With probe_moves_tasks off: processes are listed with what they keep. Off: with what they would have been given,
    had tasks been assigned as ever."""
    future_gets_tasks: bool = True
    """In a probe, who probes gets its share. Off: an empty assignment; without the group's minimum it is in the
    leader's version."""
    probe_is_taken: bool = True
    "KAFKA-8972: who is about to rejoin takes its assignment nevertheless. Off: it goes on by what it had."
    error_in_readable_version: bool = True
    "An error assignment is in the lowest version that was sent. Off: in the leader's newest."


@assume
def a_few_of_each() -> bool:
    """there are one to eight processes, one or two threads of each, up to three tasks, and budgets are 0 or more."""
    budgets = (
        Design.max_crashes,
        Design.max_expiries,
        Design.max_failovers,
        Design.max_rollbacks,
        Design.max_missing_topics,
        Design.max_lost_replies,
        Design.rebalances,
    )
    few = 1 <= Design.processes <= 8 and 1 <= Design.threads <= 2 and 0 <= Design.tasks <= 3
    return few and all(budget >= 0 for budget in budgets)


@assume
def releases_are_newer_and_newer() -> bool:
    """there is a release to come from and one to go to, and no version goes back."""
    known = Design.from_release != Release.NONE and Design.to_release != Release.NONE
    then = Design.then_release == Release.NONE or version_of(Design.to_release) <= version_of(Design.then_release)
    return known and version_of(Design.from_release) <= version_of(Design.to_release) and then


REPAIRED: dict[str, bool | int] = {}
"""Every guard in force."""

PRE_KIP: dict[str, bool | int] = {"sets_upgrade_from": False, "answers_in_lowest": False, "future_is_probed": False}
"""0.10.0 to 1.1 without the back port of KAFKA-6054."""

DRAFT: dict[str, bool | int] = {
    "mixed_is_survived": False,
    "group_minimum": False,
    "own_bound": False,
    "lower_sender_rises_at_once": False,
    "rejoin_keeps_membership": False,
    "unique_field": False,
    "future_gets_tasks": False,
    "probe_is_taken": False,
}
"""The document as written."""

SHIPPED_2_6: dict[str, bool | int] = {
    "mixed_is_survived": False,
    "rejoins_only_on_change": False,
    "error_in_readable_version": False,
}
"""Kafka 2.6 to 3.9."""

SHIPPED_2_4: dict[str, bool | int] = {**SHIPPED_2_6, "rejoin_keeps_membership": False, "unique_field": False}
"""Kafka 2.4 and 2.5."""

SHIPPED_2_3_1: dict[str, bool | int] = {
    **SHIPPED_2_4,
    "probe_moves_tasks": False,
    "lists_what_is_given": False,
    "future_gets_tasks": False,
    "probe_is_taken": False,
}
"""Kafka 2.2.2 and 2.3.1."""

SHIPPED_2_0: dict[str, bool | int] = {
    **SHIPPED_2_4,
    "group_minimum": False,
    "own_bound": False,
    "lower_sender_rises_at_once": False,
    "leader_rises_at_once": False,
    "probe_moves_tasks": False,
    "thread_keeps_its_own": False,
    "lists_what_is_given": False,
    "future_gets_tasks": False,
    "probe_is_taken": False,
}
"""Kafka 2.0.0 to 2.3.0, 2.1.1 and 2.2.1 among them."""

SETTINGS: dict[str, dict[str, bool | int]] = {
    "repaired": REPAIRED,
    "pre_kip": PRE_KIP,
    "draft": DRAFT,
    "shipped_2_0": SHIPPED_2_0,
    "shipped_2_3_1": SHIPPED_2_3_1,
    "shipped_2_4": SHIPPED_2_4,
    "shipped_2_6": SHIPPED_2_6,
}
