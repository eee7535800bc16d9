"""A controller registers with the active one, which may be itself, where the cluster's level knows that (KIP-919)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from uuid import UUID

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.levels import SUPPORTED
from impl.kraft.messages import ControllerRegistrationRequest
from impl.kraft.records import Endpoint
from impl.runtime.logs import log

_RETRY_S = 1.0

logger = logging.getLogger(__name__)

Ask = Callable[[ControllerRegistrationRequest], Awaitable[ErrorCode]]


class ControllerRegistration:
    """incarnation_id: of this process. ask: of the active controller; raises what means that there was no answer."""

    def __init__(
        self, controller_id: int, incarnation_id: UUID, listeners: tuple[Endpoint, ...], ask: Ask,
        lost: tuple[type[Exception], ...],
    ) -> None:  # fmt: skip
        self._request = ControllerRegistrationRequest(controller_id, incarnation_id, listeners, SUPPORTED)
        self._ask, self._lost = ask, lost
        self._is_under_way = False

    def look(self, image: Image, begin: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Begin to ask where what is committed does not have this process yet, and has room for it."""
        if self._is_under_way or not image.knows_controllers:
            return
        held = image.controllers.get(self._request.controller_id)
        if held is None or held.incarnation_id != self._request.incarnation_id:
            self._is_under_way = True
            begin(self._register())

    async def _register(self) -> None:
        try:
            error = await self._ask(self._request)
            if error is not ErrorCode.NONE:
                log(logger, "registration of the controller refused", {"error": error.name})
        except self._lost:
            pass
        await asyncio.sleep(_RETRY_S)
        self._is_under_way = False
