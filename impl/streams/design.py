"""The design switches of KIP-268, and how they stand in what Kafka released.

A switch that is on has its guard in force; off removes that guard and nothing else. A process has them from its
release: members of one group may differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Design:
    """The switches, as the repaired design has them."""

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
    "KAFKA-10455: no two subscriptions of a member that wants a rebalance are alike, from version 8 on."
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


REPAIRED = Design()
PRE_KIP_FIXED = Design(future_is_probed=False)
"""With the back port of KAFKA-6054."""
PRE_KIP = replace(PRE_KIP_FIXED, answers_in_lowest=False)
SHIPPED_2_6 = Design(mixed_is_survived=False, rejoins_only_on_change=False, error_in_readable_version=False)
SHIPPED_2_6_0 = replace(SHIPPED_2_6, unique_field=False)
SHIPPED_2_4 = replace(SHIPPED_2_6_0, rejoin_keeps_membership=False)
SHIPPED_2_3_1 = replace(
    SHIPPED_2_4, probe_moves_tasks=False, lists_what_is_given=False, future_gets_tasks=False, probe_is_taken=False
)
SHIPPED_2_0 = replace(
    SHIPPED_2_4,
    group_minimum=False,
    own_bound=False,
    lower_sender_rises_at_once=False,
    leader_rises_at_once=False,
    probe_moves_tasks=False,
    thread_keeps_its_own=False,
    lists_what_is_given=False,
    future_gets_tasks=False,
    probe_is_taken=False,
)
