"""The brokers explored operation by operation: between any two operations of a script comes whatever may come.

usage: python -m tests.impl.pinning.interleavings MODEL [--set NAME=VALUE]... [--preemptions N] [--most-states N]

The product with a spec (`fencepost conform`) runs a script to its end in one step. Here a step is one operation, the
arrival of one watch event, a timer, or a fault within the budgets of a model of `spec/pinning`. Each transaction is
held to P1 to P4; and where nothing is under way, a broker that runs is in office (P8), a request whose target runs is
gone (P9), brokers that run are registered, and the cluster looks as the model does in some state that it reaches.

With `--preemptions N` a script that has begun goes on, but for N times at which another broker, or the end of a dead
broker's session, comes between two operations of it. Faults come between any two all the same: 0 has each fault at each
operation of each script. Exit codes: 0 all of it holds, 1 something does not, 3 there are more states than were asked
for.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from checker.conform.canonical import Canonical, Digest
from checker.conform.spec_side import SpecSide, kernel_of
from checker.explicit.search.findings import Findings
from checker.explicit.search.path import packed
from checker.lang.loader import BoundModel, load
from impl.adapters.pinning import SYSTEM
from impl.adapters.pinning.cluster import STEP_TIMERS, Cluster
from impl.adapters.pinning.cluster import Host as Shown
from impl.adapters.pinning.views import observe
from impl.pinning.broker import Broker, Item
from impl.pinning.design import Design
from impl.pinning.effects import Effects, SetTimer, Timer
from impl.pinning.member import Member, Phase
from impl.pinning.messages import UNPIN, PinControllerRequest
from impl.pinning.znodes import NEXT, NOBODY, READY, id_path, read_next, read_ready
from impl.zookeeper import Delete, Event, Result, Submit
from impl.zookeeper.model import Tree, ZooKeeper
from impl.zookeeper.model.tree import Znode
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from impl.zookeeper.znodes import read_controller, read_decimal

PATIENT = (Timer.LAPSE, Timer.REGISTER)
"""Timers that are due once nothing else happens."""
BUDGETS = ("max_requests", "max_unpins", "max_deletions", "max_crashes", "max_expiries", "max_lost_replies")
_ZXIDS = re.compile(r"""(?<=zxid=)\d+|(?<=request=)\d+|(?<="request":)\d+""")
_SESSIONS = re.compile(r"(?<=owner=)\d+|(?<=session=)\d+")


class WrongError(AssertionError):
    """Something that no run may show."""


@dataclass(frozen=True, eq=False)
class Host:
    """A broker process. core: as it was before the script at hand; item, inputs: that script, and what it was handed.

    A script that runs cannot be copied; it is run again. pending: the operation that it awaits.
    """

    core: Broker
    item: Item | None = None
    inputs: tuple[Event, ...] = ()
    pending: Submit | None = None
    timers: frozenset[Timer] = frozenset()

    def live(self) -> Broker:
        """A copy as it is now."""
        core = self.core.copy()
        if self.item is not None:
            core.advance(0, self.item)
            for event in self.inputs:
                core.on_event(event, 0)
        return core

    def begun(self) -> Host:
        """It begins with the next item of its queue."""
        core = self.core.copy()
        effects = core.advance(0)
        return replace(self, item=core.under_way)._after(core, effects)

    def handed(self, event: Event) -> Host:
        core = self.live()
        effects = core.on_event(event, 0)
        return replace(self, inputs=(*self.inputs, event))._after(core, effects)

    def due(self, timer: Timer) -> Host:
        core = self.core.copy()
        effects = core.on_timer(timer, 0)
        return replace(self, core=core, timers=self.timers - {timer})._after(core, effects)

    def asked(self, request: PinControllerRequest) -> Host:
        core = self.live()
        core.on_request(1, request, 0)
        return replace(self, core=core)

    def _after(self, core: Broker, effects: Effects) -> Host:
        timers = {e.timer for e in effects if isinstance(e, SetTimer) and e.timer in (*STEP_TIMERS, Timer.REGISTER)}
        kept = self.timers | {timer for timer in timers if isinstance(timer, Timer)}
        if core.running is None:
            return Host(core, timers=frozenset(kept))
        submitted = [effect for effect in effects if isinstance(effect, Submit)]
        return replace(self, pending=submitted[-1] if submitted else self.pending, timers=frozenset(kept))

    def shown(self) -> str:
        """All that decides its next steps."""
        core = self.live()
        member = core.member
        read = [event.outcome for event in self.inputs if isinstance(event, Result)]
        soft = (member.phase.name, member.waits_for, member.term, member.seen)
        sessions = f"session={member.session} session={core.started}"
        return f"{soft} {sessions} {core.queue} {self.item} {read} {sorted(self.timers)}"


@dataclass(frozen=True, eq=False)
class State:
    """The cluster, and what is left of each budget. hosts: None where no process runs.

    acting: who took the last step. preemptions: how often a script may still be cut in on; None: any number of times.
    """

    zookeeper: ZooKeeper
    hosts: tuple[Host | None, ...]
    left: tuple[int, ...]
    acting: int = 0
    preemptions: int | None = None

    def key(self) -> Hashable:
        """All that decides the next steps. Zxids and sessions are compared only: their ranks stand for them."""
        zookeeper = self.zookeeper
        tree = [_read(path, zookeeper.tree[path]) for path in sorted(zookeeper.tree)]
        sessions = [f"session={session}" for session in sorted(zookeeper.sessions)]
        clients = [f"session={c.session} {c.arriving} {sorted(c.data_watches)}" for c in zookeeper.clients]
        hosts = [host and host.shown() for host in self.hosts]
        budgets = self.left, self.preemptions, self.in_a_script
        return _ranked(_ranked(f"{tree} {sessions} {clients} {hosts} {budgets}", _ZXIDS), _SESSIONS)

    @property
    def in_a_script(self) -> int | None:
        """The broker whose script goes on, unless that is cut in on."""
        host = self.hosts[self.acting]
        is_bound = self.preemptions is not None and host is not None and host.pending is not None
        return self.acting if is_bound else None

    def turn_of(self, broker: int | None) -> State | None:
        """The state in which it is a broker's turn, or ZooKeeper's; None where a script goes on."""
        if self.preemptions is None or self.in_a_script in (None, broker):
            return self if broker is None else replace(self, acting=broker)
        if not self.preemptions:
            return None
        cut_in_on = replace(self, preemptions=self.preemptions - 1)
        return cut_in_on if broker is None else replace(cut_in_on, acting=broker)

    def spend(self, budget: str) -> State:
        at = BUDGETS.index(budget)
        return replace(self, left=(*self.left[:at], self.left[at] - 1, *self.left[at + 1 :]))

    def has(self, budget: str) -> bool:
        return self.left[BUDGETS.index(budget)] > 0

    def with_host(self, broker: int, host: Host | None) -> State:
        return replace(self, hosts=(*self.hosts[:broker], host, *self.hosts[broker + 1 :]))

    def lives(self, broker: int) -> bool:
        """Its session does, as ZooKeeper has it."""
        return self.zookeeper.clients[broker].session in self.zookeeper.sessions

    def delivered(self, broker: int, *, all_of_it: bool = True) -> State:
        """What arrives at a broker is handed in: all of it, or the first."""
        state, is_first = self, True
        while state.zookeeper.clients[broker].arriving and (all_of_it or is_first):
            event, zookeeper = state.zookeeper.deliver(broker)
            host = state.hosts[broker]
            assert host is not None
            state, is_first = replace(state, zookeeper=zookeeper).with_host(broker, host.handed(event)), False
        return state


Step = tuple[str, State]


class Explorer:
    """Explores the implementation with the design, the brokers and the budgets of a model."""

    def __init__(self, model: BoundModel, preemptions: int | None = None) -> None:
        constants = model.constants
        self.brokers: int = constants["brokers"]
        self.kernel = kernel_of(model)
        self.canonical = Canonical()
        self.spec = SpecSide(model, self.kernel, SYSTEM, self.canonical)
        self.cluster: Cluster = SYSTEM.begin(constants, None)
        hosts = tuple(Host(one.core, timers=one.timers) for one in self.cluster.hosts)  # type: ignore[arg-type]  # at first all run
        left = tuple(constants[budget] for budget in BUDGETS)
        self.first = State(self.cluster.zookeeper, hosts, left, preemptions=preemptions)
        self.design: Design = self.cluster.design
        self.states = self.steps = self.ends = 0
        self.looks = self._reachable(model)

    def _reachable(self, model: BoundModel) -> set[Digest]:
        """How the model looks in the states that it reaches."""
        found = Findings(self.kernel, [model.state_type.encode(state) for state in model.initial_states()])
        todo = deque(packed(row) for row in found.initial)
        seen = set(todo)
        while todo:
            for move in self.spec.moves(todo.popleft()).steps:
                if move.target not in seen:
                    seen.add(move.target)
                    todo.append(move.target)
        return {self.spec.looks(words) for words in seen}

    def explore(self, most_states: int) -> tuple[str, list[str]]:
        """("" or what is wrong, the steps that lead there). Stops where there are more states."""
        seen: dict[Hashable, tuple[Hashable, str]] = {}
        first = self.first.key()
        todo = deque([(first, self.first)])
        seen[first] = first, ""
        while todo and len(seen) <= most_states:
            key, state = todo.popleft()
            try:
                for name, after in self._judged(state):
                    self.steps += 1
                    reached = after.key()
                    if reached not in seen:
                        seen[reached] = key, name
                        todo.append((reached, after))
            except WrongError as error:
                return str(error), _way(seen, key)
        self.states = len(seen)
        return "", []

    def _judged(self, state: State) -> Iterator[Step]:
        steps = list(self._own(state))
        if not steps:
            steps = list(self._patient(state))
            self._is_known(state)
            if not steps:
                self.ends += 1
                self._ends_well(state)
        for name, after in [*steps, *self._faults(state)]:
            yield name, after if after.preemptions is None else self._heard(after)

    # Steps.

    def _heard(self, state: State) -> State:
        """Every broker that is in no script has heard of all that its watches fired for."""
        for broker, host in enumerate(state.hosts):
            if host is not None and host.pending is None and state.lives(broker):
                state = state.delivered(broker)
        return state

    def _own(self, state: State) -> Iterator[Step]:
        """Of brokers and of ZooKeeper, whatever else happens."""
        for broker in range(self.brokers):
            if (turn := state.turn_of(broker)) is not None:
                yield from self._of_broker(turn, broker)
        held = {client.session for client in state.zookeeper.clients}
        turn = state.turn_of(None)
        for session in state.zookeeper.sessions - held if turn is not None else ():
            assert turn is not None
            yield "a dead process's session ends", replace(turn, zookeeper=state.zookeeper.expire(session))

    def _of_broker(self, state: State, broker: int) -> Iterator[Step]:
        host = state.hosts[broker]
        if host is None:
            return
        if not state.lives(broker):
            yield f"broker {broker} gets a new session", self._renewed(state, broker)
        elif host.pending is not None:
            yield f"broker {broker}: {host.pending.operation}", self._served(state, broker, host.pending)
        elif host.core.can_advance:
            yield f"broker {broker} begins {host.core.next()}", state.with_host(broker, host.begun())
        if host.pending is None and state.zookeeper.clients[broker].arriving and state.lives(broker):
            yield f"broker {broker} hears", state.delivered(broker, all_of_it=False)
        for timer in host.timers if host.pending is None else ():
            if timer not in PATIENT:
                yield f"broker {broker}: {timer}", state.with_host(broker, host.due(timer))

    def _patient(self, state: State) -> Iterator[Step]:
        for broker, host in enumerate(state.hosts):
            for timer in () if host is None else host.timers:
                assert host is not None
                yield f"broker {broker}: {timer}", state.with_host(broker, host.due(timer))

    def _faults(self, state: State) -> Iterator[Step]:
        zookeeper = state.zookeeper
        if state.has("max_deletions") and CONTROLLER in zookeeper.tree:
            by_hand = zookeeper.submit(self.brokers, Submit(0, Delete(CONTROLLER))).serve(self.brokers)
            _, by_hand = by_hand.deliver(self.brokers)
            yield "/controller is deleted by hand", replace(state, zookeeper=by_hand).spend("max_deletions")
        for broker, host in enumerate(state.hosts):
            if host is None:
                yield f"broker {broker} starts", self._started(state, broker)
                continue
            if state.has("max_crashes"):
                dead = replace(state, zookeeper=zookeeper.crash(broker)).with_host(broker, None)
                yield f"broker {broker} dies", dead.spend("max_crashes")
            if not state.lives(broker):
                continue
            if state.has("max_expiries"):
                ended = zookeeper.expire(zookeeper.clients[broker].session)
                yield f"the session of broker {broker} ends", replace(state, zookeeper=ended).spend("max_expiries")
            if host.pending is not None and state.has("max_lost_replies"):
                for done in (0, 1):
                    lost = zookeeper.submit(broker, host.pending).disconnect(broker, done=done).reconnect(broker)
                    again = replace(state, zookeeper=lost).delivered(broker).spend("max_lost_replies")
                    yield f"broker {broker} loses its connection, with {done} done of {host.pending.operation}", again
            if host.pending is None and not (host.core.queue and state.preemptions is not None):
                yield from self._asked(state, broker, host)

    def _asked(self, state: State, broker: int, host: Host) -> Iterator[Step]:
        if state.has("max_requests"):
            for other in range(self.brokers):
                asked = state.with_host(broker, host.asked(PinControllerRequest(other, 0)))
                yield f"broker {broker} is asked for {other}", asked.spend("max_requests")
        if state.has("max_unpins"):
            asked = state.with_host(broker, host.asked(PinControllerRequest(UNPIN, 0)))
            yield f"broker {broker} is asked to take the request back", asked.spend("max_unpins")

    def _served(self, state: State, broker: int, submitted: Submit) -> State:
        after = replace(state, zookeeper=state.zookeeper.submit(broker, submitted).serve(broker))
        self._may(state.zookeeper, after.zookeeper, broker)
        return after.delivered(broker)

    def _renewed(self, state: State, broker: int) -> State:
        zookeeper = state.zookeeper.disconnect(broker).reconnect(broker)
        heard = replace(state, zookeeper=zookeeper).delivered(broker)
        again = replace(heard, zookeeper=heard.zookeeper.open_session(broker)).delivered(broker)
        host = again.hosts[broker]
        assert host is not None
        return again.with_host(broker, replace(host, timers=frozenset()))

    def _started(self, state: State, broker: int) -> State:
        host = Host(Broker(Member(broker, self.design)))
        began = replace(state, zookeeper=state.zookeeper.open_session(broker)).with_host(broker, host)
        return began.delivered(broker)

    # What is to hold.

    def _may(self, before: ZooKeeper, after: ZooKeeper, broker: int) -> None:
        """P1 to P4, of a write of a broker."""
        session = before.clients[broker].session
        old, new = before.tree.get(CONTROLLER), after.tree.get(CONTROLLER)
        if new is not None and (old is None or new.stat.czxid != old.stat.czxid):
            _hold(_epoch(after.tree) > _epoch(before.tree), "P1: an epoch is issued again")
        else:
            _hold(_epoch(after.tree) == _epoch(before.tree), "P1: an epoch is issued to nobody")
        if old is not None and (new is None or new.stat.czxid != old.stat.czxid):
            _hold(new is not None or old.stat.owner == session, "P3: another's /controller is deleted")
            in_office, wanted = read_controller(CONTROLLER, old.data), _target(before.tree)
            _hold(wanted not in (NOBODY, in_office), "P2: a move without a cause")
            _hold(new is None or wanted == broker, "P2: the office is taken over by one who is not asked for")
        ready = after.tree.get(READY)
        if ready is not None and ready != before.tree.get(READY):
            _hold(read_ready(ready.data).broker == broker and ready.stat.owner == session, "P4: another's `ready`")

    def _is_known(self, state: State) -> None:
        """The model reaches a state that looks like this one."""
        shown = tuple(Shown() if host is None else Shown(host.core, timers=host.timers) for host in state.hosts)
        cluster = replace(self.cluster, zookeeper=state.zookeeper, hosts=shown)
        view = observe(cluster)
        _hold(self.canonical.of(view) in self.looks, f"the model never looks like {view}")

    def _ends_well(self, state: State) -> None:
        """P8 and P9, and everybody is registered."""
        running = [broker for broker, host in enumerate(state.hosts) if host is not None]
        controller = state.zookeeper.tree.get(CONTROLLER)
        for broker in running:
            host = state.hosts[broker]
            assert host is not None
            is_owner = controller is not None and controller.stat.owner == host.core.member.session
            if is_owner and host.core.member.phase is Phase.IN_OFFICE:
                break
        else:
            _hold(not running, "P8: nobody is in office")
        _hold(_target(state.zookeeper.tree) not in running, "P9: the request stands, and its target runs")
        for broker in running:
            znode = state.zookeeper.tree.get(id_path(broker))
            is_registered = znode is not None and znode.stat.owner == state.zookeeper.clients[broker].session
            _hold(is_registered, f"broker {broker} runs, and is not registered")


def _read(path: str, znode: Znode) -> str:
    """All that a broker ever reads of a znode."""
    stat = znode.stat
    request = f"mzxid={stat.mzxid}" if path == NEXT else ""
    return f"{path} {znode.data!r} {stat.version} owner={stat.owner} {request}"


def _ranked(text: str, numbers: re.Pattern[str]) -> str:
    """The text with ranks for the numbers that follow these words."""
    found = sorted({int(number) for number in numbers.findall(text)})
    ranks = {str(number): str(rank) for rank, number in enumerate(found)}
    return numbers.sub(lambda match: ranks[match[0]], text)


def _hold(holds: bool, what: str) -> None:
    if not holds:
        raise WrongError(what)


def _epoch(tree: Tree) -> int:
    return read_decimal(CONTROLLER_EPOCH, tree[CONTROLLER_EPOCH].data)


def _target(tree: Tree) -> int:
    found = tree.get(NEXT)
    return NOBODY if found is None else read_next(found.data)


def _way(seen: dict[Hashable, tuple[Hashable, str]], key: Hashable) -> list[str]:
    names = list[str]()
    while True:
        before, name = seen[key]
        if not name:
            return names[::-1]
        names.append(name)
        key = before


def explored(model: str, changes: dict[str, str], preemptions: int | None = None) -> Explorer:
    """An explorer of the implementation as this model has it, without the operator's answers."""
    return Explorer(load(f"pinning/{model}", {"answers": "0", **changes}), preemptions)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.pinning.interleavings")
    parser.add_argument("model")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--preemptions", type=int)
    parser.add_argument("--most-states", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    found = explored(options.model, dict(change.split("=", 1) for change in options.set), options.preemptions)
    wrong, way = found.explore(options.most_states)
    print(
        f"{found.states:,} states, {found.steps:,} steps, {found.ends:,} ends; {len(found.looks):,} looks of the model"
    )
    if wrong:
        print("\n".join([*way, wrong]))
        return 1
    return 3 if found.states > options.most_states else 0


if __name__ == "__main__":
    sys.exit(main())
