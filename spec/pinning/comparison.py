"""One request, served by resignation or by takeover: both sets of actions in one model, for `fencepost diff`.

It is none of the models of the design: with either setting, the actions of the other never happen.
"""

from __future__ import annotations

from checker.lang import Model, init
from spec.pinning.actions import target
from spec.pinning.initial import broker_0_in_office
from spec.pinning.models.requests import ABSTENTION, ELECTION, HANDOVER, MOVES, NOT_MODELLED, OFFICE, REQUEST
from spec.pinning.state import Cluster
from spec.pinning.types import Broker, Path


@init
def office_watches_ready() -> Cluster:
    """As `broker_0_in_office`, and broker 0 watches `ready` with either setting."""
    s: Cluster = broker_0_in_office()
    s.brokers[Broker(0)].armed |= {Path.READY}
    return s


COMPARED = Model(
    name="compared",
    doc="Three brokers and one request; nobody dies.",
    init=office_watches_ready,
    actions=(
        *REQUEST,
        *ELECTION,
        *ABSTENTION,
        *HANDOVER,
        target.prepare_takeover,
        target.take_over,
        target.fail_to_take_over,
    ),
    properties=(*OFFICE, *MOVES),
    constants={"max_requests": 1, "versions_read": 1},
    faults="one request",
    not_modelled=NOT_MODELLED,
)

MODELS = [COMPARED]
