"""Sizes, fault budgets and design switches of the KIP-39 spec, what is assumed of them, and the settings with a name.

A switch that is True has its guard in force; False removes that guard and nothing else. The alternatives are no guards
but other designs. Budgets bound perturbations only (requests, crashes, hangs, expiries of live sessions, early lapses,
lost replies, failures in office, `/controller` deleted by hand): restarts, the end of a dead process's session, hearing
and deciding are never bounded.
"""

from __future__ import annotations

from checker.lang import assume, constants


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, three brokers and no faults."""

    brokers: int = 3
    "Brokers. Broker 0 is in office at the start."
    legacy_brokers: int = 0
    "The last so many brokers run a version that knows of `/controller` only."
    preferred_brokers: int = 0
    "The first so many brokers are in the set of preferred controllers."
    writes: int = 0
    "With 1, a controller writes to ZooKeeper and sends requests to its peers."
    answers: int = 0
    "With 1, the operator awaits an answer to the newest request."
    versions_read: int = 0
    "With 1, a target remembers the versions that it has read, as it does to take over."
    pins_first: int = 0
    """With 1, a rolling restart begins after the one request, which is for the broker that is restarted last."""
    counted_moves: int = 0
    "Moves of the controller that are counted; the count stays there."

    max_requests: int = 0
    "Budget of requests to move the controller."
    max_crashes: int = 0
    "Budget of crashes."
    max_hangs: int = 0
    "Budget of brokers that hang outside office, for good, while their sessions live on."
    max_expiries: int = 0
    "Budget of sessions that end under a live process."
    max_early_lapses: int = 0
    "Budget of abstentions that lapse although the broker waited for is about to run."
    max_lost_replies: int = 0
    "Budget of writes to ZooKeeper that happen and whose reply is lost."
    max_office_failures: int = 0
    "Budget of brokers that become unable to hold office."
    max_deletions: int = 0
    "Budget of `/controller` deleted by hand."
    max_unpins: int = 0
    "Budget of requests that an operator takes back."
    max_late_removals: int = 0
    "Budget of removals of a target's `ready` by the former target, which has read its own there."
    max_restarts: int = 0
    "Brokers of a rolling restart, which begins with broker 0: none, or all of them."

    request_consumed: bool = True
    "Taking office deletes `/admin/next_controller` where it asks for this, and the target's own `ready`."
    resigns_for_other: bool = True
    "A controller resigns only for a `ready` that is there and names another broker."
    request_checked: bool = True
    "A controller resigns only for the `ready` of the request that stands: the multi that resigns checks both versions."
    ready_renewed: bool = True
    "A target whose `ready` is refused, since the one of a former session is still there, hears when that goes."
    one_ready_each: bool = True
    "A target that was replaced, or whose request is gone, deletes its own `ready`."
    former_ready_removed: bool = True
    """A target removes the `ready` of a former request by the multi that creates its own: the owner of that one may
    hang."""
    ready_told_apart: bool = True
    """Who creates `ready` also writes `/admin`, in the same multi, and who takes its own back checks that nobody has.
    Else all have version 0, and who deletes the one that it has read deletes the one that is there."""
    ready_owned_by_target: bool = True
    "A target leaves another's `ready` alone. Else it sets the data of one that is there, whose owner stays."
    pulls_again: bool = True
    "A broker that hears of `ready` between pulling it and deciding pulls again. Else that event is forgotten."
    office_reads_ready: bool = True
    "Who takes office reads `next` and `ready`, with watches."
    watch_where_absent: bool = True
    "An absent `ready` is watched, too (`exists`). Else (`get`) only one that is there."
    abstention_lapses: bool = True
    """A broker that has abstained for a time runs all the same. Its election ends the request that it abstained for,
    if that still stands."""
    expiry_first: bool = True
    """A broker whose session has ended steps down before it handles anything else, and before it has a new session."""
    conditional_resign: bool = True
    "A resignation is a multi that checks the version of the epoch. Else `/controller` is deleted, whoever owns it."
    epoch_with_office: bool = True
    "`/controller` is created and the epoch raised by one multi. Else these are two writes."
    zk_writes_fenced: bool = True
    "A controller's writes to ZooKeeper check the version of the epoch."
    office_failure_spends: bool = True
    """A request is spent by the election of its target. Else only once the target has begun its work, and not where
    it fails at that."""
    clears_state_on_resign: bool = True
    "KAFKA-2300: who leaves office drops what it has decided and not written yet."
    outcome_read_back: bool = True
    """KAFKA-1387, KAFKA-7165: a broker that finds `/controller` owned by its own session is in office: its create
    succeeded, and the reply was lost. Else it takes that for another's."""
    epoch_is_own: bool = True
    "KAFKA-1096: a controller keeps the epoch that it was elected at. Else it takes over the newest that it hears of."
    watches_after_expiry: bool = True
    "KAFKA-928: a broker that has a new session reads everything, with watches. Else its watches are gone."
    loser_watches: bool = True
    "KAFKA-1451: the watch on `/controller` is there before the election. Else a loser of the election sets it later."
    session_retried: bool = True
    "KAFKA-5473: a broker that cannot get a new session tries again."

    unpin_keeps_version: bool = True
    """An operator who takes a request back sets `next` to nobody, and its version goes on. Else `next` is deleted, and
    the next request has the version of the former one."""

    settling_renews_epoch: bool = True
    """A controller that settles a request for itself writes the epoch again, with a new version. Else a later request
    can have the version of the former one under the same epoch."""

    next_is_replaced: bool = True
    "Alternative: a request made while another stands replaces it. Without it, such a request is refused."
    takeover: bool = False
    "Alternative: the target takes the office by one multi, out of the hands of the controller; there is no `ready`."
    preferred: bool = False
    "Alternative: a configured set of preferred controllers; others run only while none of these is registered."
    fallback: bool = True
    "Alternative, with `preferred`: others run while no preferred one is registered. Without it they never run."
    pinning: bool = True
    "Alternative: without it there are no requests; an operator deletes `/controller`, and hopes."


@assume
def there_are_two_to_four_brokers() -> bool:
    """there are two to four brokers."""
    return 2 <= Design.brokers <= 4


@assume
def some_brokers_are_legacy() -> bool:
    """legacy brokers are some of the brokers, the last ones, or all."""
    return 0 <= Design.legacy_brokers <= Design.brokers


@assume
def some_brokers_are_preferred() -> bool:
    """preferred brokers are some of the brokers, where there is such a set; and without pinning."""
    if Design.preferred:
        return 1 <= Design.preferred_brokers <= Design.brokers and not Design.pinning
    return 0 <= Design.preferred_brokers <= Design.brokers


@assume
def takeover_is_of_a_request() -> bool:
    """takeovers are of requests that go then, and by the versions that were read."""
    deletes = Design.pinning and Design.request_consumed and Design.epoch_with_office
    return not Design.takeover or (deletes and Design.versions_read == 1)


@assume
def all_or_none_are_restarted() -> bool:
    """a rolling restart is of all brokers."""
    return Design.max_restarts in (0, Design.brokers)


@assume
def parts_are_there_or_not() -> bool:
    """writes, answers, versions read and the request before a rolling restart are modelled, 1, or not, 0."""
    return all(part in (0, 1) for part in (Design.writes, Design.answers, Design.versions_read, Design.pins_first))


@assume
def budgets_are_counts() -> bool:
    """a budget is 0 or more."""
    return all(
        budget >= 0
        for budget in (
            Design.counted_moves,
            Design.max_requests,
            Design.max_crashes,
            Design.max_hangs,
            Design.max_expiries,
            Design.max_early_lapses,
            Design.max_lost_replies,
            Design.max_office_failures,
            Design.max_deletions,
            Design.max_unpins,
            Design.max_late_removals,
        )
    )


REPAIRED: dict[str, bool | int] = {}
"""Every guard in force."""

DRAFT: dict[str, bool | int] = {
    "request_consumed": False,
    "resigns_for_other": False,
    "request_checked": False,
    "ready_renewed": False,
    "one_ready_each": False,
    "former_ready_removed": False,
    "ready_told_apart": False,
    "ready_owned_by_target": False,
    "pulls_again": False,
    "office_reads_ready": False,
    "watch_where_absent": False,
    "abstention_lapses": False,
    "expiry_first": False,
    "conditional_resign": False,
    "epoch_with_office": False,
    "zk_writes_fenced": False,
    "office_failure_spends": False,
    "clears_state_on_resign": False,
    "outcome_read_back": False,
}
"""The document as written, on the Kafka of 2015. KAFKA-928, KAFKA-1096 and KAFKA-1451 were mended by then, and
KAFKA-5473 was a bug of a client that came later: these guards stay on. The document has no way to take a request back,
so `unpin_keeps_version` does, too, and nothing settles a request, so `settling_renews_epoch` says nothing."""

UNPINNED: dict[str, bool | int] = {
    **dict.fromkeys(DRAFT, False),
    "conditional_resign": True,
    "epoch_with_office": True,
    "zk_writes_fenced": True,
    "expiry_first": True,
    "clears_state_on_resign": True,
    "outcome_read_back": True,
    "pinning": False,
}
"""Apache Kafka 2.1 to 3.9 in ZooKeeper mode: no pinning; an operator deletes `/controller` and hopes."""

SHIPPED: dict[str, bool | int] = {**UNPINNED, "preferred": True, "preferred_brokers": 2}
"""The nearest thing that was ever run: preferred controllers, in a public fork of Kafka 2.x and 3.0."""

SETTINGS: dict[str, dict[str, bool | int]] = {
    "repaired": REPAIRED,
    "draft": DRAFT,
    "shipped": SHIPPED,
    "unpinned": UNPINNED,
}
