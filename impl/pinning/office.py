"""The office: a controller begins its term, writes what its epoch fences, and resigns for a target that is ready."""

from __future__ import annotations

from impl.pinning.member import Member, Next, Phase, ReadyBy, Script
from impl.pinning.target import Target
from impl.pinning.znodes import NEXT, READY, STATE, id_path
from impl.zookeeper import Check, Committed, Delete, Done, ErrorCode, Failed, Multi, SetData, Written
from impl.zookeeper.office import CONTROLLER, Epoch, fenced, raising, resignation
from impl.zookeeper.znodes import write_decimal


class Office:
    """What one broker does from its election to the end of its term. heard: the highest epoch of a request it took."""

    def __init__(self, member: Member, target: Target, heard: int | None = None) -> None:
        self.member = member
        self.target = target
        self.heard = heard

    def begin_term(self) -> Script[bool]:
        """Begin the term. Returns whether a target is ready already, for which it is to resign."""
        member = self.member
        if member.phase is not Phase.ELECTED:
            return False
        if not member.is_able:
            yield from self.fail()
            return False
        if not member.design.epoch_with_office:
            yield from self.raise_epoch()
            if member.phase is not Phase.ELECTED:
                return False
        if member.design.request_consumed and not member.design.office_failure_spends:
            yield from self.spend_request()
        hands_over = False
        if member.design.office_reads_ready and member.design.pinning and not member.design.takeover:
            ready = yield from member.read_ready(watch=True)
            hands_over = ready is not None and (yield from self.must_hand_over(ready))[0]
        facts = {
            "from": None if member.former is None else member.former.broker,
            "to": member.broker,
            "epoch": None if member.term is None else member.term.epoch,
            "request": member.ended,
            "cause": (yield from self.cause()),
        }
        member.phase = Phase.IN_OFFICE  # not before: where the connection is lost meanwhile, all of it is done again
        if member.term is not None:
            self.take_request(member.term.epoch)
        member.log("took office", facts)
        member.did("begin_term", **facts)
        return hands_over

    def cause(self) -> Script[str]:
        """The reason why the controller before it is in office no more, as the metrics have it."""
        member, former = self.member, self.member.former
        if member.ended is not None:
            return "request"
        if former is None:
            return "none"
        registered = yield from member.read(id_path(former.broker))
        if registered is None or registered.stat.owner != former.owner:
            return "failure"
        return "by hand" if (yield from member.read_next()) is None else "request"

    def raise_epoch(self) -> Script[None]:
        """The second of two writes; another's election may come between (before Kafka 2.1)."""
        member = self.member
        while True:
            epoch = yield from member.read_epoch()
            if epoch is None:
                member.leave_office()
                return
            result = yield raising(epoch)
            if isinstance(result.outcome, Written):
                member.term = Epoch(epoch.epoch + 1, result.outcome.stat.version)
                return

    def confirm(self) -> Script[None]:
        """/controller is its own still. The version of its epoch may have changed by a write that had no reply."""
        member = self.member
        epoch = yield from member.read_epoch()
        if epoch is not None and member.term is not None and epoch.epoch == member.term.epoch:
            member.term = epoch

    def spend_request(self) -> Script[None]:
        member = self.member
        while True:
            standing = yield from member.read_next()
            if standing is None or standing.target != member.broker:
                return
            own = yield from self.target.own_ready()
            if isinstance((yield Multi((Delete(NEXT, standing.version), *own))).outcome, Committed):
                return

    def fail(self) -> Script[None]:
        """The work of a controller cannot begin: leave office at once."""
        member = self.member
        holder = yield from member.read_holder()
        member.leave_office()
        if holder is not None and holder.owner == member.session:
            yield Delete(CONTROLLER, 0)
        member.log("failed on taking office", {"broker": member.broker}, is_warning=True)
        member.did("fail_in_office")

    def hear_ready(self) -> Script[None]:
        """`ready` has changed while it is in office (Handling the admin request, f)."""
        member = self.member
        while True:
            ready = yield from member.read_ready(watch=True)
            hands_over, standing = yield from self.must_hand_over(ready)
            if not hands_over:
                member.did("stay")
                return
            if (yield from self.resign(ready, standing)):
                return

    def must_hand_over(self, ready: ReadyBy | None) -> Script[tuple[bool, Next | None]]:
        """A controller that has read `ready` resigns; and the request that it resigns for, where it checks that."""
        member = self.member
        if ready is None:
            return not member.design.resigns_for_other, None
        if member.design.resigns_for_other and ready.broker == member.broker:
            return False, None
        if not member.design.request_checked:
            return True, None
        standing = yield from member.read_next()
        serves = standing is not None and (standing.target, standing.request) == (ready.broker, ready.request)
        return serves, standing

    def resign(self, ready: ReadyBy | None, standing: Next | None) -> Script[bool]:
        """Delete /controller. Returns False where `next` or `ready` has changed since they were read."""
        member, term = self.member, self.member.term
        if member.design.conditional_resign and term is not None:
            seen = ((NEXT, standing), (READY, ready))
            checks = [Check(path, znode.version) for path, znode in seen if znode is not None]
            result = yield resignation(term, *checks)
            if isinstance(result.outcome, Failed) and (result.outcome.at or 0) in range(1, len(checks) + 1):
                return False
            is_done = isinstance(result.outcome, Committed)
        else:
            result = yield Delete(CONTROLLER)
            is_done = isinstance(result.outcome, Done)
        facts = {
            "from": member.broker,
            "to": ready.broker if ready is not None else None,
            "epoch": term.epoch if term is not None else None,
            "request": standing.request if standing is not None else None,
            "cause": "request" if is_done else "another was elected",
        }
        member.leave_office()
        member.log("resigned", facts)
        member.did("resign", **facts)
        if not is_done:
            yield from self.give_up()
        return True

    # An epoch that was changed by hand costs a term; it must not cost the office.

    def give_up(self) -> Script[None]:
        """Its term is over. Where /controller is its own still, nobody was elected: delete it, or nobody ever will be.

        That checks the epoch of which /controller was its own after it was read, so that it deletes no successor's.
        """
        member = self.member
        if not member.design.conditional_resign:
            return
        epoch = yield from self.target.elector.watched_epoch()
        holder = yield from member.read_holder()
        if epoch is not None and holder is not None and holder.owner == member.session:
            yield resignation(epoch)

    def check_term(self) -> Script[None]:
        """What its epoch fences was refused, and it has not heard of another controller: step down if there is none."""
        member = self.member
        epoch = yield from member.read_epoch()
        holder = yield from member.read_holder()
        is_own = holder is not None and holder.owner == member.session
        if is_own and member.phase is Phase.IN_OFFICE and epoch != member.term:
            member.log("left office", member.of_term("the epoch was changed by hand"), is_warning=True)
            member.leave_office()
            yield from self.give_up()

    # What a controller does in office.

    def decide(self) -> None:
        """Decide something, which is yet to be written."""
        member = self.member
        if member.phase is Phase.IN_OFFICE and member.term is not None and member.decided is None:
            member.decided = member.term
            member.did("decide")

    def write(self) -> Script[bool]:
        """Write what was decided. Returns whether it stepped down, since the epoch says that another was elected."""
        member, decided, term = self.member, self.member.decided, self.member.term
        if member.phase is not Phase.IN_OFFICE or decided is None or term is None:
            return False
        write = SetData(STATE, write_decimal(decided.epoch))
        outcome = (yield fenced(term, write) if member.design.zk_writes_fenced else write).outcome
        if isinstance(outcome, Failed) and outcome.code is ErrorCode.BAD_VERSION:
            self.deposed("write_refused")
            return True
        member.decided = None
        if isinstance(outcome, Failed):
            what = outcome.message or outcome.code.value
            member.log("not written", {"path": STATE, "why": what}, is_warning=True)
        else:
            member.did("write", epoch=decided.epoch)
        return False

    def take_request(self, epoch: int) -> bool:
        """A controller of this epoch sends a request. Returns False where it is refused: a later one was heard of."""
        if self.heard is not None and epoch < self.heard:
            return False
        self.heard = epoch
        return True

    def deposed(self, action: str) -> None:
        """Another was elected: step down."""
        member = self.member
        member.log("left office", member.of_term("another was elected"), is_warning=True)
        member.leave_office()
        member.did(action)
