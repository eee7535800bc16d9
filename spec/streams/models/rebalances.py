"""How many rebalances follow a perturbation: as probing and leaving, with a counter."""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.initial import all_old
from spec.streams.models.probing import (
    BY_LEAVING,
    GROUP,
    LEAVES,
    PROBES,
    ROLL,
    WITHOUT_TASKS,
)

COUNTED = (properties.rebalances.rebalances_are_few,)

REBALANCES = Model(
    name="rebalances",
    doc="As probing; counts the rebalances that complete after the last bounce.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(*COUNTED, properties.witnesses.upgraded, properties.witnesses.bound_is_reached),
    constants={"rebalances": 6},
    settings=PROBES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

REBALANCES_LEAVING = Model(
    name="rebalances_leaving",
    doc="As leaving; counts the rebalances that complete after the last bounce.",
    init=all_old,
    actions=BY_LEAVING,
    properties=(*COUNTED, properties.witnesses.upgraded),
    constants={"rejoin_keeps_membership": False, "rebalances": 8},
    settings=LEAVES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

MODELS = [REBALANCES, REBALANCES_LEAVING]
