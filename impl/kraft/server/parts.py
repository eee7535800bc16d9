"""A request about several topics or resources as requests of the core, of which each is decided by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from impl.kraft.messages import Request, Response
from impl.runtime.entities import entity_bytes


@dataclass(frozen=True)
class Parts:
    """The core's requests that a request is, and how the body of its response is made of theirs, in their order."""

    requests: tuple[Request, ...]
    entity: Callable[[Sequence[Any]], Any]

    def response_bytes(self, responses: Sequence[Any]) -> bytes:
        return entity_bytes(self.entity(responses))


@dataclass(frozen=True)
class Each:
    """What becomes of each part of a request.

    key: what it is about. begun: the core's request for it, or the response that refuses it without one. twice: the
    response to what several parts are about, which is refused as by Kafka (ControllerApis). ended: its result.
    """

    key: Callable[[Any], Hashable]
    begun: Callable[[Any], Request | Response]
    twice: Response
    ended: Callable[[Any, Any], Any]

    def parts(self, wire_parts: Iterable[Any], entity: Callable[[tuple[Any, ...]], Any]) -> Parts:
        """entity: the response of the results."""
        listed = list(wire_parts)
        count = Counter(map(self.key, listed))
        once = {self.key(part): part for part in listed}
        begun = [self.twice if count[key] > 1 else self.begun(part) for key, part in once.items()]

        def ended(responses: Sequence[Any]) -> Any:
            given = iter(responses)
            answers = (next(given) if isinstance(one, Request) else one for one in begun)
            return entity(tuple(self.ended(part, answer) for part, answer in zip(once.values(), answers, strict=True)))

        return Parts(tuple(one for one in begun if isinstance(one, Request)), ended)
