"""What brokers ask a controller for, by all that its decision looks at: in closed models, and at will.

A request is a tuple. ("register", broker, again); ("beat", broker, want_fence, want_shut_down, caught_up, the shutdowns
that the image reaches, whether it reaches the amended registration); ("isr", leader, the ISR).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from checker.explicit.check import kernel_of
from checker.explicit.diff import initial_codes
from checker.explicit.inclusion import distinct
from checker.explicit.kernel.columns import codes_of
from checker.explicit.liveness.graph import build_with_states
from checker.explicit.search.breadth_first import search
from checker.lang.frontend.observation import observation
from checker.lang.loader import BoundModel
from checker.reference.step import Reference
from checker.running.deadline import Deadline
from checker.running.limits import Limits
from spec.kraft.actions.at_will import Decided, amended_at, applied_at, decided
from spec.kraft.actions.controller import alter_isr_error
from spec.kraft.actions.shutdown import has_applied
from spec.kraft.messages import Register
from spec.kraft.types import Broker, Error, Voter, node_id

Asked = tuple[Any, ...]
BATCH = 1 << 17


def states(model: BoundModel, *parts: str) -> Iterator[Any]:
    """The states that a model comes to, one for all that are alike in these parts and in what is decided."""
    model.bind()
    kernel = kernel_of(model, Limits())
    result = search(kernel, initial_codes(model), threads=2, limits=Limits(), all_violations=True)
    _, words = build_with_states(kernel, result, Deadline(time.monotonic(), Limits(), None))
    names = [name.lstrip(".") for name, _ in model.state_type.leaves]
    read = {leaf for leaf, name in enumerate(names) if name.startswith(parts)} | {*observation(model, decided).leaves}
    met = set()
    for begin in range(0, len(words), BATCH):
        batch = words[begin : begin + BATCH]
        codes = codes_of(kernel.layout, batch, sorted(read))
        for place in distinct(codes)[0].tolist():
            if codes[place].tobytes() not in met:
                met.add(codes[place].tobytes())
                yield model.state_type.decode(codes_of(kernel.layout, batch[[place]])[0].tolist())


def beat(s: Any, broker: Any, want_fence: bool, want_shut_down: bool, caught_up: bool, applied: Any) -> Asked:
    controller = s.controllers[Voter(0)]
    begun = {b: controller.shutdowns[b].offset for b in Broker if controller.shutdowns[b] is not None}
    reached = frozenset(b.index for b, offset in begun.items() if has_applied(applied, offset))
    amended = amended_at(controller.image, broker)
    has_amended = amended is not None and has_applied(applied, amended)
    return "beat", broker.index, want_fence, want_shut_down, caught_up, reached, has_amended


def offered(reference: Reference, s: Any) -> Iterator[Asked]:
    """What brokers ask for at will, in the steps that the model takes from here."""
    controller = s.controllers[Voter(0)]
    for instance, _ in reference.successors(s):
        match reference.actions[reference.instances[instance][0]].name, reference.arguments(s, instance):
            case "register_at_will", (_, process, again):
                yield "register", node_id(process).index, again
            case "heartbeat_at_will" | "orderly_heartbeat", (_, process, fence, stop, caught_up, reach, of):
                applied = applied_at(s, Voter(0), process, caught_up, reach, of)
                yield beat(s, node_id(process), fence, stop, caught_up, applied)
            case "alter_isr_at_will", (_, leader, p, member):
                isr = controller.image.partitions[p].isr ^ {member}
                yield "isr", node_id(leader).index, frozenset(b.index for b in isr)


def asked(s: Any) -> Iterator[Asked]:
    """What is under way and may change the controller."""
    image = s.controllers[Voter(0)].image
    for request in s.lifecycle:
        broker = node_id(request.sender)
        held = image.registrations[broker]
        if isinstance(request, Register):
            yield "register", broker.index, held is not None and held.incarnation == request.incarnation
        elif held is not None and held.broker_epoch == request.broker_epoch:
            yield beat(s, broker, request.want_fence, request.want_shut_down, request.caught_up, request.applied)
    for request in s.alterations:
        if alter_isr_error(image, request) == Error.NONE:
            yield "isr", node_id(request.sender).index, frozenset(b.index for b in request.isr)


def offers(within: BoundModel) -> dict[Decided, set[Asked]]:
    """By what is decided, all that brokers may ask for at will."""
    found: dict[Decided, set[Asked]] = {}
    reference = Reference(within)
    for s in states(within, "processes", "lifecycle", "alterations"):
        is_free = len(s.lifecycle) + len(s.alterations) == 0
        found.setdefault(decided(s), set()).update(offered(reference, s) if is_free else asked(s))
    return found


def not_offered(model: BoundModel, within: BoundModel) -> tuple[int, list[tuple[Decided, Asked]]]:
    """(requests under way in a closed model, each by what is decided; those that nobody asks for at will)."""
    found = offers(within)
    seen: set[tuple[Decided, Asked]] = set()
    for s in states(model, "lifecycle", "alterations"):
        seen.update((decided(s), one) for one in asked(s))
    return len(seen), sorted((one for one in seen if one[1] not in found.get(one[0], ())), key=repr)
