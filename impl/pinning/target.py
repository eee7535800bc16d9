"""The target of a request: it hears of `next`, and keeps `ready` (KIP-39, Handling the admin request, e)."""

from __future__ import annotations

from impl.pinning.effects import Timer
from impl.pinning.elector import Elector
from impl.pinning.member import Member, Next, Phase, ReadyBy, Script, Seen
from impl.pinning.znodes import ADMIN, NEXT, READY, Ready, ready_bytes
from impl.zookeeper import (
    Absent,
    Check,
    Committed,
    Create,
    Delete,
    ErrorCode,
    Exists,
    Failed,
    Multi,
    SetData,
    Written,
)
from impl.zookeeper.office import CONTROLLER, Epoch, election, rewriting, term_of


class Target:
    """One broker's part in requests, whether or not they are for it."""

    def __init__(self, member: Member, elector: Elector) -> None:
        self.member = member
        self.elector = elector

    def hear_next(self) -> Script[bool]:
        """`next` has changed, or asked for this broker at the start. Returns whether it is to be heard of again."""
        member = self.member
        standing = yield from member.read_next(watch=True)
        if standing is None or standing.target != member.broker:
            yield from self.hear_of_other(standing)
        elif member.phase is Phase.IN_OFFICE and member.design.request_consumed:
            return not (yield from self.settle(standing))
        elif member.design.takeover:
            yield from self.prepare_takeover(standing)
        else:
            yield from self.set_ready(standing)
            member.did("set_ready", request=standing.request)
        return False

    def set_ready(self, standing: Next) -> Script[None]:
        """Say that it is ready to serve, as far as nobody else's `ready` is in the way; hear when that goes."""
        member = self.member
        while True:
            ready = yield from self.write_ready(standing)
            if not member.design.ready_renewed or (ready is not None and ready.owner == member.session):
                return
            there = yield from member.read_ready(watch=True)
            if there is not None and there == ready:
                return
            if (yield from member.read_next()) != standing:
                return  # an event of `next` is on its way
            if there is None and not isinstance((yield Exists(READY)).outcome, Absent):
                return  # it is garbage, or somebody has just made it: an event of it is on its way, or will be

    def write_ready(self, standing: Next) -> Script[ReadyBy | None]:
        """`ready` as it is after it was created, or its data set. None: another request came between, or another's.

        The write checks that the request still stands: else an event of `next` is on its way.
        """
        member = self.member
        request = standing.request if member.design.request_checked else None
        data = ready_bytes(Ready(member.broker, request))
        stands = (Check(NEXT, standing.version),) if member.design.request_checked else ()
        is_marked = member.design.one_ready_each
        unchanged = (yield from self.check_of_creations()) if is_marked else ()
        there = yield from member.read_ready()
        is_own = there is not None and there.owner == member.session
        is_former = there is not None and member.design.former_ready_removed and there.request != request
        if there is None or (is_former and not is_own):
            removed = () if there is None else (Delete(READY, there.version),)
            mark = (SetData(ADMIN, b""),) if is_marked else ()  # else the owner of the former one would delete this one
            created = (Create(READY, data, ephemeral=True), *mark)
            result = yield Multi((*stands, *unchanged, *removed, *created))
            is_done = isinstance(result.outcome, Committed)
            return ReadyBy(member.broker, request, member.session, 0) if is_done else None
        if not is_own and member.design.ready_owned_by_target:
            return there
        if request is not None and (there.broker, there.request) == (member.broker, request):
            return there  # where it names no request, nobody could see that it is new
        result = yield Multi((*stands, *unchanged, SetData(READY, data, there.version)))
        is_done = isinstance(result.outcome, Committed)
        return ReadyBy(member.broker, request, there.owner, there.version + 1) if is_done else None

    def renew(self) -> Script[None]:
        """`ready` has changed: the one that was in the way may be gone."""
        member = self.member
        if not member.design.ready_renewed or member.design.takeover or not member.design.pinning:
            return
        standing = yield from member.read_next()
        if standing is None or standing.target != member.broker:
            return
        if (yield from member.read_ready()) is None:
            yield from self.set_ready(standing)

    def settle(self, standing: Next) -> Script[bool]:
        """A request for the one in office is served, and goes. Returns False where it is not in office any more.

        The epoch stays and its version does not: the next request has the version that an earlier one had, and who has
        read that one would take it for this.
        """
        member = self.member
        term = member.term
        assert term is not None, "who is in office has a term"
        own = yield from self.own_ready()
        result = yield Multi((rewriting(term), Check(CONTROLLER, 0), Delete(NEXT, standing.version), *own))
        match result.outcome:
            case Committed(parts=(Written(stat=stat), *_)):
                member.term = Epoch(term.epoch, stat.version)
        member.did("settle_request", request=standing.request)
        return isinstance(result.outcome, Committed)

    def check_of_creations(self) -> Script[tuple[Check, ...]]:
        """Fails if a `next` or a `ready` was created since this was read."""
        admin = yield from self.member.read(ADMIN)
        return () if admin is None else (Check(ADMIN, admin.stat.version),)

    def own_ready(self) -> Script[tuple[Check | Delete, ...]]:
        """Its own `ready`, to be deleted with something else."""
        if self.member.design.takeover:
            return ()
        unchanged = (yield from self.check_of_creations()) if self.member.design.one_ready_each else ()
        ready = yield from self.member.read_ready()
        is_own = ready is not None and ready.owner == self.member.session
        return (*unchanged, Delete(READY, ready.version)) if is_own and ready is not None else ()

    def hear_of_other(self, standing: Next | None) -> Script[None]:
        """The request is another's, or gone: take its own `ready` back; a controller watches `ready`."""
        member = self.member
        if member.design.takeover:
            member.did("hear_of_other")
            return
        if member.design.one_ready_each:
            own = yield from self.own_ready()
            if own:
                yield Multi((*(() if standing is None else (Check(NEXT, standing.version),)), *own))
        if member.believes_in_office and not member.design.office_reads_ready:
            yield from member.read_ready(watch=True)  # else it watches that since its term began
        member.did("hear_of_other")

    # Takeover: an alternative to `ready`, resignation and election.

    def prepare_takeover(self, standing: Next) -> Script[None]:
        """Read the versions that the takeover will check."""
        yield from self.see(standing)
        self.member.did("prepare_takeover", request=standing.request)

    def see(self, standing: Next) -> Script[None]:
        """Read the epoch, and see that the request is still the same: else it could be one that a later epoch brought.

        Where it is another, an event of `next` is on its way; where the epoch is garbage, one of the epoch will be.
        """
        member = self.member
        epoch = yield from self.elector.watched_epoch()
        if epoch is not None and (yield from member.read_next()) == standing:
            member.seen = Seen(standing.version, standing.request, epoch)
            member.set_timer(Timer.TAKE_OVER)

    def take_over(self) -> Script[None]:
        """Take the office by one multi, whoever is in it: the epoch is raised, and the request gone."""
        member = self.member
        while member.seen is not None and not member.believes_in_office:
            epoch = member.seen.epoch
            vacant = isinstance((yield Exists(CONTROLLER)).outcome, Absent)
            served = Delete(NEXT, member.seen.next_version)
            taken = election(member.broker, member.now_ms, epoch, served).operations
            member.ended = member.seen.request
            result = yield Multi(taken if vacant else (Delete(CONTROLLER), *taken))
            term = term_of(result.outcome, epoch)
            if term is not None:
                self.elector.elected(term)
                member.did("take_over", epoch=term.epoch)
                return
            match result.outcome:
                case Failed(code=code, at=at):
                    if code is ErrorCode.BAD_VERSION or (code is ErrorCode.NO_NODE and at != 0):
                        break  # another was elected, or the request replaced; else /controller came or went
        yield from self.fail_to_take_over()

    def fail_to_take_over(self) -> Script[None]:
        """Somebody was elected, or the request replaced: read again what there is to take over."""
        member = self.member
        if member.seen is None:
            return
        member.seen = None
        standing = yield from member.read_next()
        if standing is not None and standing.target == member.broker and not member.believes_in_office:
            yield from self.see(standing)
        member.did("fail_to_take_over")
