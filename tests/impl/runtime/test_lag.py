"""How late a loop is, whose doing that is, and a kernel that does not say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from impl.runtime import lag
from impl.runtime.lag import Lag, watch_lag


def test_what_a_loop_does_itself_is_told_from_what_it_waits_for() -> None:
    async def looked_at(hold_up: Callable[[], object]) -> Lag:
        found = list[Lag]()
        watching = asyncio.create_task(watch_lag(found.append, interval_s=0.001))
        await asyncio.sleep(0)
        hold_up()
        while not found:
            await asyncio.sleep(0.001)
        watching.cancel()
        return found[0]

    def work() -> None:
        end_s = time.thread_time() + 0.05
        while time.thread_time() < end_s:
            pass

    busy, blocked = asyncio.run(looked_at(work)), asyncio.run(looked_at(lambda: time.sleep(0.05)))
    assert busy.used_ms >= 50 and busy.late_ms >= 45
    assert blocked.used_ms < 45 <= blocked.late_ms


@pytest.mark.parametrize(
    ("says", "waited_ms"),
    [(("5000000", "", "9000000"), [0, 4]), (("", "5000000", "9000000"), [0, 4]), (("5000000", "2000000"), [0])],
    ids=["a read fails", "the first read fails", "it goes back"],
)
def test_a_read_that_fails_ends_nothing_and_counts_nothing(
    says: tuple[str, ...], waited_ms: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled = tmp_path / "schedstat"
    monkeypatch.setattr(lag, "_SCHEDULED", scheduled)
    scheduled.write_text(f"1 {says[0]}")
    rest, found = iter(says[1:]), list[float]()

    async def watched() -> None:
        is_over = asyncio.get_running_loop().create_future()

        def observe(seen: Lag) -> None:
            found.append(seen.waited_ms)
            following = next(rest, None)
            if following is None:
                is_over.set_result(None)
            else:
                scheduled.write_text(f"1 {following}")

        watching = asyncio.create_task(watch_lag(observe, interval_s=0.001))
        await asyncio.sleep(0)  # it has read the first
        scheduled.write_text(f"1 {next(rest)}")
        await asyncio.wait([is_over, watching], return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()

    asyncio.run(watched())
    assert found == waited_ms
