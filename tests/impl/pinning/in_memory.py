"""Brokers on the ZooKeeper in memory, whose operations are served one by one."""

from __future__ import annotations

from collections.abc import Sequence

from impl.pinning.broker import Broker
from impl.pinning.design import REPAIRED, Design
from impl.pinning.effects import Effects, Reply, SetTimer
from impl.pinning.member import Member, Phase
from impl.pinning.messages import PinControllerRequest, Request, Response
from impl.pinning.znodes import PERSISTENT, READY, read_ready
from impl.runtime.effects import Did, Log
from impl.zookeeper import Operation, Submit
from impl.zookeeper.model import ZooKeeper

TAKEOVER, LEGACY = Design(takeover=True), Design(pinning=False)


class Brokers:
    """Brokers that run, of which broker 0 is in office.

    asked: their operations, as text; steps: those of the design; answers: to what was asked of them; warnings: of the
    log. znodes: that are there before any broker is.
    """

    def __init__(
        self,
        count: int,
        design: Design = REPAIRED,
        *,
        legacy: int = 0,
        znodes: Sequence[tuple[str, bytes]] = PERSISTENT,
    ) -> None:
        self.zookeeper = ZooKeeper.begin(count + 1, znodes).open_session(count)
        self.cores = [Broker(Member(n, design if n < count - legacy else LEGACY)) for n in range(count)]
        self.pending: list[Effects] = [[] for _ in range(count)]
        self.steps: list[str] = []
        self.asked: list[str] = []
        self.answers: list[Response] = []
        self.warnings: list[str] = []
        self.moves: list[tuple[object, ...]] = []
        """(from, to, epoch, cause) of the log. requests: that ended with these moves."""
        self.requests: list[object] = []
        for broker in range(count):
            self.zookeeper = self.zookeeper.open_session(broker)
            self.settle(broker)

    def step(self, broker: int) -> bool:
        """Carry out what a broker has asked for, up to an operation, or let it ask. Returns whether there was anything.

        So between two steps it may be about to have an operation carried out.
        """
        core, effects = self.cores[broker], self.pending[broker]
        if not effects and self.zookeeper.clients[broker].arriving:
            event, self.zookeeper = self.zookeeper.deliver(broker)
            effects += core.on_event(event, 0)
            return True
        if not effects and core.can_advance:
            effects += core.advance(0)
            return True
        is_any = bool(effects)
        while effects:
            effect = effects.pop(0)
            match effect:
                case Submit():
                    self.asked.append(str(effect.operation))
                    self.zookeeper = self.zookeeper.submit(broker, effect).serve(broker)
                    break
                case SetTimer(timer=timer, at_ms=0):
                    effects += core.on_timer(timer, 0)
                case Did(action=action):
                    self.steps.append(action)
                case Log(event="took office", facts=facts):
                    self.moves.append((facts["from"], facts["to"], facts["epoch"], facts["cause"]))
                    self.requests.append(facts["request"])
                case Log(event=warning, is_warning=True):
                    self.warnings.append(warning)
                case Reply(response=response):
                    self.answers.append(response)
        return is_any

    def settle(self, *brokers: int) -> None:
        """Let these brokers do all that they have to do, one after the other; default: all."""
        moves = True
        while moves:
            moves = False
            for broker in brokers or range(len(self.cores)):
                moves |= self.step(broker)

    def until_submits(self, broker: int, operation: str, *, brokers: Sequence[int] = ()) -> None:
        """Let a broker, and others, go on until it is about to have an operation of this kind carried out."""
        while not self._is_about_to(broker, operation):
            moved = self.step(broker)
            for other in brokers:
                moved |= not self._is_about_to(broker, operation) and self.step(other)
            assert moved, f"broker {broker} never gets to {operation}"

    def _is_about_to(self, broker: int, operation: str) -> bool:
        return any(isinstance(one, Submit) and operation in str(one.operation) for one in self.pending[broker])

    def by_hand(self, operation: Operation) -> None:
        client = len(self.cores)
        self.zookeeper = self.zookeeper.submit(client, Submit(0, operation)).serve(client)

    def lose_reply(self, broker: int) -> None:
        """The operation that a broker has under way is carried out, and the connection lost before its result."""
        [submitted] = [one for one in self.pending[broker] if isinstance(one, Submit)]
        self.pending[broker].remove(submitted)
        self.zookeeper = self.zookeeper.submit(broker, submitted)
        self.zookeeper = self.zookeeper.disconnect(broker, done=1).reconnect(broker)

    def die(self, broker: int) -> int:
        """The process of a broker is gone, and another has a session. Returns the former session, which lives on."""
        former = self.cores[broker].member.session
        self.zookeeper = self.zookeeper.crash(broker).open_session(broker)
        self.cores[broker], self.pending[broker] = Broker(Member(broker, self.cores[broker].member.design)), []
        return former

    def expire(self, session: int) -> None:
        self.zookeeper = self.zookeeper.expire(session)

    def begin_session(self, broker: int) -> None:
        """A broker whose session has ended hears of that, and gets another."""
        self.zookeeper = self.zookeeper.disconnect(broker).reconnect(broker).open_session(broker)

    def ready(self) -> int | None:
        """Whom `ready` names."""
        found = self.zookeeper.tree.get(READY)
        return None if found is None else read_ready(found.data).broker

    def lose_connection(self, broker: int) -> None:
        self.zookeeper = self.zookeeper.disconnect(broker).reconnect(broker)

    def lose_request(self, broker: int) -> None:
        """The connection is lost before the operation that a broker has under way reaches a server."""
        self.pending[broker] = [one for one in self.pending[broker] if not isinstance(one, Submit)]
        self.lose_connection(broker)

    def ask(self, broker: int, request: Request) -> None:
        self.pending[broker] += self.cores[broker].on_request(1, request, 0)

    def request(self, target: int, through: int) -> None:
        self.ask(through, PinControllerRequest(target, 0))
        self.until_done(through, "request")

    def until_done(self, broker: int, action: str) -> None:
        done = self.steps.count(action)
        while self.steps.count(action) == done:
            assert self.step(broker), f"broker {broker} does not {action}"

    def controllers(self) -> list[int]:
        return [n for n, core in enumerate(self.cores) if core.member.phase is Phase.IN_OFFICE]
