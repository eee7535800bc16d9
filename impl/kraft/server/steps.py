"""Steps of a broker that somebody waits for: in the order of the loop, with a result beside the effects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from impl.kraft.fields import InvalidFieldError
from impl.kraft.node import BrokerEffect, BrokerEffects, BrokerNode, HostedBroker
from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.server.waiting import Waiting
from impl.runtime.loop import CoreLoop
from impl.runtime.wire import WireError

T = TypeVar("T")


class Steps:
    """node: to be read at any time, and changed in steps alone. trace: of its replicas."""

    def __init__(
        self, node: BrokerNode | HostedBroker, loop: CoreLoop[BrokerEffect], trace: ReplicaTrace | None = None
    ) -> None:
        self.node, self._loop, self.trace = node, loop, trace
        self.waiting = Waiting()

    async def take(self, step: Callable[[int], tuple[T, BrokerEffects]]) -> T:
        """The result of a step, which is given the time. Raises WireError for what the core does not take."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def taken(now_ms: int) -> BrokerEffects:
            try:
                result, effects = step(now_ms)
            except InvalidFieldError as error:  # of a message; nothing has changed
                if not answer.done():
                    answer.set_exception(WireError(str(error)))
                return []
            if not answer.done():
                answer.set_result(result)
            return effects

        self._loop.post(taken)
        return await answer
