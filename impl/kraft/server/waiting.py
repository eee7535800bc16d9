"""Answers that wait for what a later step does, such as a high watermark that moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Waiting:
    """Looked at between the steps of a core, so that no step is missed."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[Any], Callable[[], Any]] = {}

    async def until(self, ready: Callable[[], T | None], timeout_s: float) -> T | None:
        """What `ready` returns once it is not None, or None at the end of the time. It is called once at least."""
        found = ready()
        if found is not None or timeout_s <= 0:
            return found
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = ready
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[answer]

    def look(self) -> None:
        """A step was taken."""
        for answer, ready in self._waiting.items():
            if not answer.done() and (found := ready()) is not None:
                answer.set_result(found)
