"""The design switches of the consumer coordinator: all on in the repaired design; the draft has none of the guards.

A switch that is on has its guard in force; off removes that guard and nothing else. `join_barrier` and `by_sockets` are
no guards but other designs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Design:
    """The switches, as the repaired design has them."""

    attempt_ids: bool = True
    "A response counts for the attempt that its request was of."
    coordinator_epoch: bool = True
    "A consumer refuses a coordinator that is older than one that it has registered with."
    fenced_writes: bool = True
    "A coordinator writes to ZooKeeper by a multi that checks its epoch."
    starts_registered: bool = True
    "A rebalance is skipped (9, 3.5) only where every member already fetches its share."
    bit_cleared_first: bool = True
    "The rebalance bit is cleared before a rebalance reads (9, 1). Else once it has succeeded."
    owners_first: bool = True
    "Owners are written (9, 4.6) before anybody is started (4.4)."
    waits_out_sessions: bool = True
    "A new coordinator starts nobody before the longest session that is allowed has passed."
    session_maximum: bool = True
    "Nobody is registered with a longer session than what a new coordinator waits out."
    lease_from_answers: bool = True
    "Both ends count a session from the last answer that arrived. Else the consumer counts from what it has heard last."
    stops_before_expiry: bool = True
    "A coordinator renews no consumer's session once its session with ZooKeeper may have ended."
    timer_before_requests: bool = True
    "A consumer looks at its session before it takes a request or a record, on waking, too."
    failures_in_a_row: bool = True
    "A ping that is answered ends the count of those that failed. Else failures are summed up."
    watch_then_read: bool = True
    "A new coordinator watches topics as it reads them. Else it reads them, and sets watches later."
    shutdown_commits: bool = True
    "Pings say what is committed of what was answered. Else a consumer that shuts down leaves at the second ping."
    counts_answers: bool = True
    "With shutdown_commits, a ping says up to which answer. Else only whether all is, and no answer is awaited."
    retries_resume: bool = True
    "After the last retry a timer tries again."
    commit_is_monotone: bool = True
    "An offset is committed only if it is higher."
    by_sockets: bool = False
    """Section 2: a rebalance closes the connections of a group, and the answer to a registration brings the partitions.
    Members are stored in ZooKeeper."""
    join_barrier: bool = False
    "Who has not stopped in time is removed, and the rebalance goes on. Else it is tried again."

    @property
    def is_repaired_on_wire(self) -> bool:
        """Requests name epoch and attempt: types 15 to 19. Else they are the document's, 5 to 9."""
        return self.attempt_ids or self.coordinator_epoch


REPAIRED = Design()
DRAFT = Design(
    attempt_ids=False,
    coordinator_epoch=False,
    fenced_writes=False,
    starts_registered=False,
    bit_cleared_first=False,
    owners_first=False,
    waits_out_sessions=False,
    session_maximum=False,
    lease_from_answers=False,
    stops_before_expiry=False,
    timer_before_requests=False,
    failures_in_a_row=False,
    watch_then_read=False,
    shutdown_commits=False,
    counts_answers=False,
    retries_resume=False,
    commit_is_monotone=False,
)
"""Sections 5 to 11 of the document as written."""
SECTION2 = replace(DRAFT, by_sockets=True)
"""The other protocol of the document, in its section 2."""
SHIPPED = replace(
    REPAIRED,
    lease_from_answers=False,
    stops_before_expiry=False,
    timer_before_requests=False,
    shutdown_commits=False,
    counts_answers=False,
    commit_is_monotone=False,
    join_barrier=True,
)
"""Kafka 0.9 as far as it compares."""
SETTINGS = {"draft": DRAFT, "section2": SECTION2, "shipped": SHIPPED, "repaired": REPAIRED}
