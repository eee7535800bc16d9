"""A copy of a controller that is asked, and whose answers are held against what is wanted."""

from __future__ import annotations

from typing import TypeVar

from impl.adapters.kraft import record_rules
from impl.adapters.kraft.cluster import ControllerHost
from impl.adapters.kraft.core import ControllerCore
from impl.kraft.effects import Append, Reply
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import Request, Response
from impl.kraft.records import Record

CALL = 1 << 40  # which nobody waits for
R = TypeVar("R", bound=Response)


class DocumentError(AssertionError):
    """An answer that is not what the document says."""


class Asking:
    """A controller, from a state of its own on, whose batches are committed at once."""

    def __init__(self, host: ControllerHost) -> None:
        self._core: ControllerCore = host.core.copy()
        self._epoch, self.now_ms = host.epoch, host.now_ms
        self.image: Image = host.image
        self.records: tuple[Record, ...] = ()

    @property
    def core(self) -> ControllerCore:
        return self._core

    def ask(self, request: Request) -> Response:
        """The response to a request; `records` are those that it wrote."""
        self.records = ()
        effects = self._core.handle(CALL, request, self.now_ms)
        for effect in effects:
            if isinstance(effect, Append):
                self.image = record_rules.replayed(self.image, effect.batch, self._epoch)
                self.records = effect.batch.records
        effects = [*effects, *self._core.on_commit(self.image.offset + 1, self.now_ms)]
        replies = [one.response for one in effects if isinstance(one, Reply) and one.call == CALL]
        if len(replies) != 1:
            raise DocumentError(f"{request} is answered {len(replies)} times")
        return replies[0]

    def wants(self, request: Request, error: ErrorCode, records: tuple[Record, ...] | None = ()) -> Response:
        """Hold the answer to a request, and what is written for it. records: None where any will do."""
        response = self.ask(request)
        if response.error is not error:
            raise DocumentError(f"{request} is answered {response.error.name}, not {error.name}")
        if records is not None and self.records != records:
            raise DocumentError(f"{request} writes {self.records}, not {records}")
        return response

    def require(self, holds: bool, rule: str) -> None:
        if not holds:
            raise DocumentError(rule)
