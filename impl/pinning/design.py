"""The design switches of pinning: each on in the repaired design, and off as KIP-39 has it.

A switch that is on has its guard in force; off removes that guard and nothing else. The guards that the Kafka of 2015
had in all of its elections are no switches here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Design:
    """The switches, as the repaired design has them; `pinning` off is Kafka's own election."""

    pinning: bool = True
    takeover: bool = False
    "The target takes the office by one multi, out of the hands of the controller; there is no `ready`."
    next_is_replaced: bool = True
    "A request made while another stands replaces it. Else it is refused."
    request_consumed: bool = True
    "Taking office deletes `next` where it asks for this, and the target's own `ready`."
    resigns_for_other: bool = True
    "A controller resigns only for a `ready` that is there and names another broker."
    request_checked: bool = True
    "A controller resigns only for the `ready` of the request that stands: the multi checks both versions."
    ready_renewed: bool = True
    "A target whose `ready` is refused hears when the one that is in the way goes."
    former_ready_removed: bool = True
    "A target removes the `ready` of a former request by the multi that creates its own."
    one_ready_each: bool = True
    "A target that was replaced, or whose request is gone, deletes its own `ready`."
    ready_owned_by_target: bool = True
    "A target leaves another's `ready` alone. Else it sets the data of one that is there, whose owner stays."
    pulls_again: bool = True
    "A broker that hears of `ready` between pulling it and deciding pulls again."
    office_reads_ready: bool = True
    "Who takes office reads `next` and `ready`, with watches."
    watch_where_absent: bool = True
    "An absent `ready` is watched, too (`exists`). Else (`get`) only one that is there."
    abstention_lapses: bool = True
    "A broker that has abstained for a time runs all the same."
    expiry_first: bool = True
    "A broker whose session has ended steps down before it handles anything else."
    conditional_resign: bool = True
    "A resignation checks the version of the epoch. Else `/controller` is deleted, whoever owns it."
    epoch_with_office: bool = True
    "`/controller` is created and the epoch raised by one multi."
    zk_writes_fenced: bool = True
    "A controller's writes check the version of the epoch."
    office_failure_spends: bool = True
    "A request is spent by the election of its target, even if that fails to begin its work."
    clears_state_on_resign: bool = True
    "Who leaves office drops what it has decided and not written yet (KAFKA-2300)."
    outcome_read_back: bool = True
    "A `/controller` that its own session owns is its own, whatever became of the reply (KAFKA-1387, KAFKA-7165)."


REPAIRED = Design()
DRAFT = Design(
    request_consumed=False,
    resigns_for_other=False,
    request_checked=False,
    ready_renewed=False,
    former_ready_removed=False,
    one_ready_each=False,
    ready_owned_by_target=False,
    pulls_again=False,
    office_reads_ready=False,
    watch_where_absent=False,
    abstention_lapses=False,
    expiry_first=False,
    conditional_resign=False,
    epoch_with_office=False,
    zk_writes_fenced=False,
    office_failure_spends=False,
    clears_state_on_resign=False,
    outcome_read_back=False,
)
"""The document as written, on the Kafka of 2015."""
