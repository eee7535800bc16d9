"""The broker that takes an operator's request, and follows it to its end (KIP-39, Proposed Change, a and b)."""

from __future__ import annotations

from dataclasses import dataclass

from impl.pinning.effects import Reply
from impl.pinning.member import Holder, Member, Next, Script
from impl.pinning.messages import (
    UNKNOWN,
    UNPIN,
    DescribeControllerResponse,
    ErrorCode,
    MetadataResponse,
    PinControllerRequest,
    PinControllerResponse,
    Response,
)
from impl.pinning.znodes import ADMIN, BROKER_IDS, NEXT, NOBODY, ZnodeError, id_path, read_registration
from impl.zookeeper import (
    Absent,
    Children,
    Committed,
    Create,
    Created,
    Exists,
    Failed,
    GetChildren,
    Multi,
    SetData,
    Written,
)
from impl.zookeeper import ErrorCode as ZkErrorCode
from impl.zookeeper.office import Epoch
from impl.zookeeper.znodes import read_id, write_decimal


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was written down and is to be followed. request: the zxid of that write."""

    target: int
    request: int


class Request:
    """The requests that a broker took. asked: those that wait for their move, by call."""

    def __init__(self, member: Member, asked: dict[int, Asked] | None = None) -> None:
        self.member = member
        self.asked: dict[int, Asked] = {} if asked is None else asked

    def pin(self, call: int, request: PinControllerRequest) -> Script[None]:
        """Check a request, and write it down."""
        member, target = self.member, request.target_broker
        if target < UNPIN or request.timeout_ms < 0:
            what = f"broker {target}, timeout {request.timeout_ms} ms: neither may be below {UNPIN} and 0"
            self.answer(call, PinControllerResponse(ErrorCode.INVALID_REQUEST, what))
        elif not member.design.pinning:
            what = "controller.pinning.enable is false on this broker"
            self.answer(call, PinControllerResponse(ErrorCode.INVALID_REQUEST, what))
        elif target == UNPIN:
            yield from self.unpin(call)
        elif (yield from self.is_controller(call, target)):
            return
        elif isinstance((yield Exists(id_path(target))).outcome, Absent):
            what = f"broker {target} is not registered"
            self.answer(call, PinControllerResponse(ErrorCode.BROKER_NOT_AVAILABLE, what))
        else:
            yield from self.write(call, target, request.timeout_ms)

    def is_controller(self, call: int, target: int) -> Script[bool]:
        """The target is in office: answer at once, and write nothing."""
        holder = yield from self.member.read_holder()
        if holder is None or holder.broker != target:
            return False
        epoch = yield from self.member.read_epoch()
        self.answer(call, served(UNKNOWN, holder, epoch))
        return True

    def write(self, call: int, target: int, timeout_ms: int) -> Script[None]:
        """Create `next`, or put this request in the place of the one that stands."""
        member, data = self.member, write_decimal(target)
        while True:
            found = yield from member.read(NEXT)
            if not member.design.next_is_replaced and (yield from member.read_next()) is not None:
                what = "a request stands already; --unpin takes it back"
                self.answer(call, PinControllerResponse(ErrorCode.INVALID_REQUEST, what))
                return
            created = Multi((Create(NEXT, data), SetData(ADMIN, b"")))
            result = yield created if found is None else SetData(NEXT, data, found.stat.version)
            match result.outcome:
                case Committed(parts=(Created(stat=stat), *_)) | Written(stat=stat):
                    member.did("request", target=target, request=stat.mzxid)
                    yield from self.accepted(call, Asked(target, stat.mzxid), timeout_ms)
                    return
                case Failed(code=ZkErrorCode.NODE_EXISTS | ZkErrorCode.BAD_VERSION):
                    continue  # another request came between
                case Failed(code=ZkErrorCode.NO_NODE) if found is not None:
                    continue  # it was served
                case Failed(code=code, message=message):
                    if code is ZkErrorCode.NO_NODE and (yield from self.makes_admin()):
                        continue
                    what = f"the request was not written down: {message or code.value}"
                    self.answer(call, PinControllerResponse(ErrorCode.UNKNOWN_SERVER_ERROR, what))
                    return

    def makes_admin(self) -> Script[bool]:
        """Create /admin, which requests are below: nobody has done so yet. Returns whether it is there."""
        result = yield Create(ADMIN, b"")
        return isinstance(result.outcome, Created) or (
            isinstance(result.outcome, Failed) and result.outcome.code is ZkErrorCode.NODE_EXISTS
        )

    def accepted(self, call: int, asked: Asked, timeout_ms: int) -> Script[None]:
        """The request stands. Who does not wait has its answer; the others get it once the target is in office."""
        if timeout_ms == 0:
            holder = yield from self.member.read_holder()
            broker = UNKNOWN if holder is None else holder.broker
            self.answer(call, PinControllerResponse(ErrorCode.NONE, None, asked.request, broker))
            return
        self.asked[call] = asked

    def unpin(self, call: int) -> Script[None]:
        """Take the request back that stands. Where none does, nothing is written."""
        nobody = write_decimal(NOBODY)
        while True:
            found = yield from self.member.read(NEXT)
            if found is None or found.data == nobody:
                break
            outcome = (yield SetData(NEXT, nobody, found.stat.version)).outcome
            if isinstance(outcome, Written):
                self.member.did("unpin")
                break
            if isinstance(outcome, Failed) and outcome.code not in (ZkErrorCode.NO_NODE, ZkErrorCode.BAD_VERSION):
                what = f"the request was not taken back: {outcome.message or outcome.code.value}"
                self.answer(call, PinControllerResponse(ErrorCode.UNKNOWN_SERVER_ERROR, what))
                return
        self.answer(call, PinControllerResponse(ErrorCode.NONE))

    def follow(self) -> Script[None]:
        """`next` or /controller has changed: answer who is served by that."""
        if not self.asked:
            return
        standing = yield from self.member.read_next()
        holder = yield from self.member.read_holder()
        for call, asked in tuple(self.asked.items()):
            if holder is not None and is_served(asked, standing, holder):
                epoch = yield from self.member.read_epoch()
                del self.asked[call]
                self.answer(call, served(asked.request, holder, epoch))
                self.member.did("answer_served", target=asked.target)

    def time_out(self, call: int) -> Script[None]:
        """The time of a request is up: it may still stand, and the answer says how to take it back."""
        yield from self.follow()
        standing = yield from self.member.read_next()
        asked = self.asked.pop(call, None)
        if asked is None:
            return
        stands = standing is not None and standing.request == asked.request
        what = (
            f"broker {asked.target} is not controller yet; the request stands, --unpin takes it back"
            if stands
            else f"broker {asked.target} is not controller; the request was replaced or taken back"
        )
        known = UNKNOWN if self.member.controller is None else self.member.controller
        self.answer(call, PinControllerResponse(ErrorCode.REQUEST_TIMED_OUT, what, asked.request, known))
        self.member.did("answer_timed_out", target=asked.target)

    def unreached(self, call: int, what: str) -> None:
        """The time of a request is up, and ZooKeeper cannot be read."""
        asked = self.asked.pop(call, None)
        message = f"ZooKeeper was not reached in time: {what}"
        request = UNKNOWN if asked is None else asked.request
        self.answer(call, PinControllerResponse(ErrorCode.REQUEST_TIMED_OUT, message, request))

    def lost(self, call: int) -> None:
        """The connection to ZooKeeper was lost before the request was written down, or its reply was."""
        what = "the connection to ZooKeeper was lost: the request may stand or not, --describe shows it"
        self.answer(call, PinControllerResponse(ErrorCode.UNKNOWN_SERVER_ERROR, what))

    def describe(self, call: int, waits_for: int | None) -> Script[None]:
        """Who is in office, and what is under way."""
        member = self.member
        holder = yield from member.read_holder()
        epoch = yield from member.read_epoch()
        standing = yield from member.read_next()
        ready = yield from member.read_ready()
        self.answer(
            call,
            DescribeControllerResponse(
                ErrorCode.NONE,
                None,
                UNKNOWN if holder is None else holder.broker,
                UNKNOWN if epoch is None else epoch.epoch,
                UNPIN if standing is None else standing.target,
                UNKNOWN if standing is None else standing.request,
                UNKNOWN if ready is None else ready.broker,
                () if waits_for is None else (member.broker,),
            ),
        )

    def metadata(self, call: int) -> Script[None]:
        """The brokers that are registered, and the controller."""
        member, brokers = self.member, list[tuple[int, str, int]]()
        result = yield GetChildren(BROKER_IDS)
        names = result.outcome.names if isinstance(result.outcome, Children) else ()
        for name in names:
            path = f"{BROKER_IDS}/{name}"
            found = yield from member.read(path)
            if found is None or (broker := read_id(name)) is None:
                continue  # it is gone meanwhile, or no broker's
            try:
                brokers.append((broker, *read_registration(path, found.data or b"")))
            except ZnodeError as error:
                member.complain(error, found)
        holder = yield from member.read_holder()
        self.answer(call, MetadataResponse(tuple(brokers), UNKNOWN if holder is None else holder.broker))

    def answer(self, call: int, response: Response) -> None:
        self.member.effects.append(Reply(call, response))


def is_served(asked: Asked, standing: Next | None, holder: Holder) -> bool:
    """The request stands no more, and its target is the controller."""
    return (standing is None or standing.request != asked.request) and holder.broker == asked.target


def served(request: int, holder: Holder, epoch: Epoch | None) -> PinControllerResponse:
    known = UNKNOWN if epoch is None else epoch.epoch
    return PinControllerResponse(ErrorCode.NONE, None, request, holder.broker, known)
