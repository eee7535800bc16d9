"""Two-phase commit: all resource managers commit a transaction, or none does.

`TwoPhase.tla` of Gray and Lamport, "Consensus on Transaction Commit". Messages, once sent, stay for
ever, so delay, duplication and reordering are all in here.
Known counts: 288 distinct states with 3 resource managers, 8,832 with 5.

Not modelled: a crash; a transaction manager that never decides is one that takes no step.
"""

from __future__ import annotations

import enum

from checker.lang import (
    Identity,
    Map,
    Model,
    Set,
    action,
    constants,
    init,
    invariant,
    require,
    state,
    witness,
)

SOURCE = "Gray and Lamport, Consensus on Transaction Commit, TwoPhase"


@constants
class Transaction:
    resource_managers: int = 3
    "How many resource managers take part."


class ResourceManager(Identity, size=lambda: Transaction.resource_managers): ...


class Manager(enum.Enum):
    """The decision of the transaction manager."""

    UNDECIDED = enum.auto()
    COMMITTED = enum.auto()
    ABORTED = enum.auto()


class Work(enum.Enum):
    """Progress of a resource manager."""

    WORKING = enum.auto()
    PREPARED = enum.auto()
    COMMITTED = enum.auto()
    ABORTED = enum.auto()


class Decision(enum.Enum):
    """The decision that the transaction manager sends to all resource managers."""

    COMMIT = enum.auto()
    ABORT = enum.auto()


@state
class System:
    work: Map[ResourceManager, Work]
    manager: Manager
    known_prepared: Set[ResourceManager]  # of whom the transaction manager has heard
    prepared_sent: Set[ResourceManager]  # the messages: who sent "prepared" ...
    decisions_sent: Set[Decision]  # ... and what the transaction manager sent to all


@init
def all_working() -> System:
    return System(
        work=Map({rm: Work.WORKING for rm in ResourceManager}),
        manager=Manager.UNDECIDED,
        known_prepared=frozenset(),
        prepared_sent=frozenset(),
        decisions_sent=frozenset(),
    )


@action(who="transaction manager", source=SOURCE)
def manager_hears_prepared(s: System, rm: ResourceManager) -> None:
    """The transaction manager receives "prepared" from a resource manager."""
    require(s.manager == Manager.UNDECIDED and rm in s.prepared_sent)
    s.known_prepared |= {rm}


@action(who="transaction manager", source=SOURCE)
def manager_commits(s: System) -> None:
    """All resource managers are prepared, and the transaction manager decides to commit."""
    require(s.manager == Manager.UNDECIDED)
    require(all(rm in s.known_prepared for rm in ResourceManager))
    s.manager = Manager.COMMITTED
    s.decisions_sent |= {Decision.COMMIT}


@action(who="transaction manager", source=SOURCE)
def manager_aborts(s: System) -> None:
    """The transaction manager gives the transaction up, for whatever reason."""
    require(s.manager == Manager.UNDECIDED)
    s.manager = Manager.ABORTED
    s.decisions_sent |= {Decision.ABORT}


@action(who="resource manager {rm}", source=SOURCE)
def prepare(s: System, rm: ResourceManager) -> None:
    """A resource manager is ready to commit, says so, and can no longer abort on its own."""
    require(s.work[rm] == Work.WORKING)
    s.work[rm] = Work.PREPARED
    s.prepared_sent |= {rm}


@action(who="resource manager {rm}", source=SOURCE)
def choose_to_abort(s: System, rm: ResourceManager) -> None:
    """A resource manager that has promised nothing yet aborts on its own."""
    require(s.work[rm] == Work.WORKING)
    s.work[rm] = Work.ABORTED


@action(who="resource manager {rm}", source=SOURCE)
def hear_commit(s: System, rm: ResourceManager) -> None:
    """A resource manager is told to commit."""
    require(Decision.COMMIT in s.decisions_sent)
    s.work[rm] = Work.COMMITTED


@action(who="resource manager {rm}", source=SOURCE)
def hear_abort(s: System, rm: ResourceManager) -> None:
    """A resource manager is told to abort."""
    require(Decision.ABORT in s.decisions_sent)
    s.work[rm] = Work.ABORTED


@invariant(source=SOURCE + ", TCConsistent")
def all_or_nothing(s: System) -> bool:
    """No resource manager has committed while another has aborted."""
    return not (
        any(s.work[rm] == Work.COMMITTED for rm in ResourceManager)
        and any(s.work[rm] == Work.ABORTED for rm in ResourceManager)
    )


@witness
def all_committed(s: System) -> bool:
    """The transaction is committed everywhere."""
    return all(s.work[rm] == Work.COMMITTED for rm in ResourceManager)


@witness
def abort_after_promise(s: System) -> bool:
    """A resource manager that was prepared has to abort."""
    return any(s.work[rm] == Work.ABORTED and rm in s.prepared_sent for rm in ResourceManager)


model = Model(
    name="two_phase_commit",
    doc="A transaction manager and its resource managers agree on commit or abort.",
    init=all_working,
    actions=[
        manager_hears_prepared,
        manager_commits,
        manager_aborts,
        prepare,
        choose_to_abort,
        hear_commit,
        hear_abort,
    ],
    properties=[all_or_nothing, all_committed, abort_after_promise],
    not_modelled="A crash.",
)
