"""The election with abstention (KIP-39, Changes in the election code).

Without pinning it is Kafka's own, of a legacy broker: it watches /controller only, always runs, and never resigns.

A broker that finds nobody in office pulls `ready`, and then runs, or abstains for who is ready. Pulling and deciding
are two scripts, and events are handled between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from impl.pinning.effects import Timer
from impl.pinning.member import Member, Phase, Script
from impl.pinning.znodes import ADMIN, NEXT, READY
from impl.zookeeper import (
    Absent,
    Check,
    Create,
    Created,
    Delete,
    ErrorCode,
    Exists,
    Failed,
)
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH, Epoch, creation, election, term_of
from impl.zookeeper.znodes import write_decimal


class Elector:
    """One broker's part in the election, up to the moment in which it is elected."""

    def __init__(self, member: Member) -> None:
        self.member = member

    def hear_controller(self) -> Script[None]:
        """/controller has changed, or nobody was in office at the start."""
        member = self.member
        holder = yield from member.read_holder(watch=True)
        is_own = holder is not None and holder.owner == member.session
        if member.believes_in_office and not is_own:
            member.log("left office", member.of_term("/controller is not its own any more"))
            member.leave_office()
        if holder is None and member.phase in (Phase.WATCHING, Phase.ABSTAINS):
            yield from self.pull()
        elif holder is not None and member.phase is Phase.ABSTAINS:
            self.watch_on()
        member.did("hear_controller")

    def hear_ready(self) -> Script[None]:
        """`ready` has changed, and this broker is not in office (Possible gotchas, II and III)."""
        member = self.member
        decides = member.phase in (Phase.PULLED, Phase.LAPSED) and member.design.pulls_again
        if member.phase is Phase.ABSTAINS or decides:
            if (yield from self.is_vacant()):
                yield from self.pull()
            else:
                yield from member.read_ready(watch=True)
                self.watch_on()
        member.did("hear_ready")

    def pull(self) -> Script[None]:
        """Look who is ready, with a watch. What is done about it is decided later."""
        member = self.member
        ready = (yield from member.read_ready(watch=True)) if self.looks_at_ready else None
        member.phase = Phase.PULLED
        member.waits_for = None if ready is None or ready.broker == member.broker else ready.broker
        member.set_timer(Timer.DECIDE)

    @property
    def looks_at_ready(self) -> bool:
        return self.member.design.pinning and not self.member.design.takeover

    def decide(self) -> Script[None]:
        """Run or abstain, by what was pulled."""
        member = self.member
        if member.phase is Phase.PULLED and member.waits_for is not None:
            if (yield from self.is_vacant()):
                self.abstain(member.waits_for)
            else:
                self.watch_on()
            member.did("abstain")
        elif member.phase in (Phase.PULLED, Phase.LAPSED):
            yield from self.run()

    def abstain(self, waits_for: int) -> None:
        member = self.member
        member.phase = Phase.ABSTAINS
        member.log("abstains", {"broker": member.broker, "for": waits_for})
        member.set_timer(Timer.LONG_ABSTENTION, member.session_timeout_ms)
        if member.design.abstention_lapses:
            member.set_timer(Timer.LAPSE, member.abstain_timeout_ms)

    def lapse(self) -> None:
        """It has abstained for too long: who it waits for is dead, hangs, or does not come."""
        member = self.member
        if member.phase is not Phase.ABSTAINS or not member.design.abstention_lapses:
            return
        member.phase = Phase.LAPSED
        member.log("abstention lapses", {"broker": member.broker, "for": member.waits_for}, is_warning=True)
        member.did("lapse")
        member.set_timer(Timer.DECIDE)

    def run(self) -> Script[None]:
        """Create /controller, and with it raise the epoch and end the request that this election serves or gives up.

        The multi checks that the request is still as it was read: where it is not, the multi is put together anew.
        """
        member = self.member
        while True:
            epoch = yield from self.epoch()
            if epoch is None:
                self.watch_on()
                return
            if member.design.epoch_with_office:
                result = yield election(member.broker, member.now_ms, epoch, *(yield from self.ends()))
            else:
                result = yield creation(member.broker, member.now_ms)
            term = term_of(result.outcome, epoch)
            if term is not None:
                self.elected(term)
                member.did("run", epoch=term.epoch)
                return
            match result.outcome:
                case Created():
                    self.elected(None)
                    member.did("run")
                    return
                case Failed(code=ErrorCode.NODE_EXISTS):
                    yield from self.lost()
                    return

    def epoch(self) -> Script[Epoch | None]:
        """The epoch to raise, 0 where none was issued. None where it is garbage: a watch says when that changes."""
        if (yield from self.member.read(CONTROLLER_EPOCH)) is None:
            yield Create(CONTROLLER_EPOCH, write_decimal(0))
        return (yield from self.watched_epoch())

    def watched_epoch(self) -> Script[Epoch | None]:
        """The epoch. None where it is garbage, or absent: a watch says when that changes."""
        member = self.member
        epoch = yield from member.read_epoch()
        if epoch is None:
            yield from member.read(CONTROLLER_EPOCH, watch=True)
            epoch = yield from member.read_epoch()  # it may have changed before there was a watch
        return epoch

    def ends(self) -> Script[Sequence[Delete | Check]]:
        """What goes with its election: the request that it serves, or that it abstained for too long; its `ready`."""
        member, found = self.member, list[Delete | Check]()
        member.ended = None
        if not member.design.pinning or not member.design.request_consumed:
            return found
        admin = yield from member.read(ADMIN)
        standing = yield from member.read_next()
        if standing is not None:
            given_up = member.phase is Phase.LAPSED and member.waits_for == standing.target
            served = standing.target == member.broker and member.design.office_failure_spends
            if served or (given_up and standing.target != member.broker):
                found.append(Delete(NEXT, standing.version))
                member.ended = standing.request
            else:
                found.append(Check(NEXT, standing.version))
        takes_back = False
        if member.design.office_failure_spends and not member.design.takeover:
            ready = yield from member.read_ready()
            if ready is not None and ready.owner == member.session:
                found.append(Delete(READY, ready.version))
                takes_back = True
        if admin is not None and (standing is None or takes_back):
            found.append(Check(ADMIN, admin.stat.version))  # no request came, and its `ready` is its own still
        return found

    def lost(self) -> Script[None]:
        """/controller is there. It is another's, or its own, created by a multi whose reply was lost."""
        member = self.member
        holder = yield from member.read_holder()
        if holder is not None and holder.owner == member.session and member.design.outcome_read_back:
            if (yield from self.find_own_office()):
                return
        self.watch_on()
        member.did("lose_election")

    def hear_epoch(self) -> Script[None]:
        """The epoch was garbage, and has changed. A broker may have created /controller, had no reply, and waited."""
        member = self.member
        holder = yield from member.read_holder()
        is_own = holder is not None and holder.owner == member.session
        if is_own and not member.believes_in_office and member.design.outcome_read_back:
            if (yield from self.find_own_office()):
                return
        yield from self.hear_controller()

    def find_own_office(self) -> Script[bool]:
        """/controller is of its own session: it was elected, though it had no reply. Returns whether it still is.

        The epoch that it reads is that of its election if /controller is its own after that, too: another's election or
        takeover in between would have raised it.
        """
        member = self.member
        epoch = None
        if member.design.epoch_with_office:
            epoch = yield from self.watched_epoch()
            holder = yield from member.read_holder()
            if epoch is None or holder is None or holder.owner != member.session:
                return False
        self.elected(epoch)
        member.did("find_own_office")
        return True

    def elected(self, term: Epoch | None) -> None:
        """It has created /controller. The term begins behind the events that are waiting."""
        member = self.member
        member.phase, member.term, member.waits_for, member.seen = Phase.ELECTED, term, None, None
        member.controller = member.broker
        member.set_timer(Timer.BEGIN)

    def watch_on(self) -> None:
        self.member.phase, self.member.waits_for = Phase.WATCHING, None

    def is_vacant(self) -> Script[bool]:
        """Nobody is in office."""
        result = yield Exists(CONTROLLER)
        return isinstance(result.outcome, Absent)
