"""Which switches are in force for whom: where releases meet, some members lack some of what is set."""

from __future__ import annotations

from spec.streams.design import Design
from spec.streams.releases import Behaviour
from spec.streams.state import Cluster
from spec.streams.types import Process, Thread, process_of


def behaves_as(s: Cluster, thread: Thread) -> Behaviour:
    """The release that a thread behaves as, or AS_SET."""
    process = process_of(thread)
    if Design.meet != Behaviour.ALL_FIXED and Design.meet != Behaviour.ONE_UNFIXED:
        return Design.meet
    if s.processes[process].bounces == 0:
        return Behaviour.SHIPPED_2_0
    if process == Process(0):
        return Behaviour.SHIPPED_2_4 if Design.meet == Behaviour.ALL_FIXED else Behaviour.SHIPPED_2_0
    if process == Process(1):
        return Behaviour.SHIPPED_2_6 if Design.meet == Behaviour.ALL_FIXED else Behaviour.SHIPPED_2_4
    return Behaviour.AS_SET


def is_since_2_4(s: Cluster, thread: Thread) -> bool:
    """It has what came with KAFKA-8649 and after."""
    return behaves_as(s, thread) != Behaviour.SHIPPED_2_0


def is_since_2_6(s: Cluster, thread: Thread) -> bool:
    """It has what came with KAFKA-9525 and KAFKA-10455, too."""
    return is_since_2_4(s, thread) and behaves_as(s, thread) != Behaviour.SHIPPED_2_4


def is_as_set(s: Cluster, thread: Thread) -> bool:
    """It has what no release has."""
    return behaves_as(s, thread) == Behaviour.AS_SET


def keeps_membership(s: Cluster, thread: Thread) -> bool:
    """It rejoins with its member id."""
    return Design.rejoin_keeps_membership and is_since_2_6(s, thread)


def has_unique_field(s: Cluster, thread: Thread) -> bool:
    """Its subscription differs from the last one whenever it wants to rejoin."""
    return Design.unique_field and is_since_2_6(s, thread)
