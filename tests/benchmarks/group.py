"""Figures of the core of impl/group: pings, and 5,000 consumers in 100 groups, in seconds of processor time."""

from __future__ import annotations

import time

from impl.group.effects import Send, Timer, Timing
from impl.group.protocol import PingRequest, PingResponse, Position
from impl.group.settings import BrokerSettings, ConsumerSettings
from tests.benchmarks.printing import line
from tests.impl.group.simulated import Simulation

CONSUMERS, GROUPS = 5_000, 100
SESSION_MS = 6_000
ROUNDS = 30
SIMULATED_MS = 60_000


def group() -> None:
    """50,000 pings a second through the core alone; 5,000 consumers start, and stay for a simulated minute."""
    run = Simulation(BrokerSettings(0, "", max_consumer_session_ms=SESSION_MS), {"t": 50})
    started = time.process_time()
    for number in range(CONSUMERS):
        name = f"c{number}"
        run.add(ConsumerSettings((("h", 1),), f"g{number % GROUPS}", name, '{"t": 1}', SESSION_MS))
    assert run.run(120_000, lambda: run.all_fetch(CONSUMERS)), "everybody is started"
    spent_s = time.process_time() - started
    line(
        f"{CONSUMERS:,} consumers in {GROUPS} groups fetch after an election",
        f"{run.now_ms - run.settings.longest_session_ms:,} ms after the longest session, {spent_s:.1f} s of processor",
        "10,000 ms",
    )
    started = time.process_time()
    run.run(SIMULATED_MS)
    spent_s = time.process_time() - started
    suspected = CONSUMERS - run.members
    line(f"a simulated minute of {CONSUMERS:,}, both ends", f"{spent_s:.1f} s, {suspected} suspected", "0 suspected")
    line("pings a second through the core", f"{pings(run):,.0f}", "50,000")


def pings(run: Simulation) -> float:
    """Pings a second of processor time, each sent, and its answer with an offset taken."""
    core, now_ms, count = run.core, run.now_ms + 100, 0
    answers = {
        member.connection: PingResponse(0, member.consumer, (Position("t", "0-0", 1),), 1, 0)
        for member in core.members.values()
    }
    spent_s = 0.0
    for _ in range(ROUNDS):
        now_ms += SESSION_MS // 3
        started = time.process_time()
        effects = core.on_timer(Timer(Timing.PINGS), now_ms)
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, PingRequest):
                core.on_response(effect.connection, answers[effect.connection], now_ms)
                count += 1
        spent_s += time.process_time() - started
    assert count >= ROUNDS * len(answers), "each is pinged in each round"
    return count / spent_s


if __name__ == "__main__":
    group()
