"""The document's test matrix: a cell by its procedure, with a fault, offline, and with a process that is put back.

Cells with the same versions differ in nothing but the names of their releases. An operator who leaves upgrade.from in
place needs no model: no bounce is fair, so a roll may end anywhere, and L2 and L3 are claimed of what it leaves.
"""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.actions import membership, operator
from spec.streams.design import SETTINGS
from spec.streams.initial import all_old
from spec.streams.models.probing import ENDS, GROUP, ROLL, VERSIONS, WITHOUT_TASKS
from spec.streams.models.upgrades import CONFIGURED
from spec.streams.releases import Release

CLAIMED = (*CONFIGURED, properties.witnesses.upgraded)
CELL = {"from_release": Release.R0_10_0, "to_release": Release.R0_10_1}
"""The first cell of the document's table."""

MATRIX = Model(
    name="matrix",
    doc="A cell of the document's test matrix, from_release to to_release, by its procedure.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=CLAIMED,
    constants=CELL,
    settings=SETTINGS,
    faults="none but the bounces, which wait for nothing",
    not_modelled=WITHOUT_TASKS,
)

CRASH = Model(
    name="matrix_crash",
    doc="As matrix; a process dies once, and starts again.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.crash),
    properties=CLAIMED,
    constants={**CELL, "max_crashes": 1},
    settings=SETTINGS,
    faults="one process that dies at any time; the bounces wait for nothing",
    not_modelled=WITHOUT_TASKS,
)

EXPIRY = Model(
    name="matrix_expiry",
    doc="As matrix; the session of a live member ends once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.expire_early, membership.hear_of_removal),
    properties=CLAIMED,
    constants={**CELL, "max_expiries": 1},
    settings=SETTINGS,
    faults="one session that ends under a live member; the bounces wait for nothing",
    not_modelled=WITHOUT_TASKS,
)

FAILOVER = Model(
    name="matrix_failover",
    doc="As matrix; the group coordinator fails over once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.fail_over),
    properties=CLAIMED,
    constants={**CELL, "max_failovers": 1},
    settings=SETTINGS,
    faults="one failover of the coordinator while the group rebalances; the bounces wait for nothing",
    not_modelled=WITHOUT_TASKS,
)

ROLLBACK = Model(
    name="matrix_rollback",
    doc="As matrix; a process is put back to what it ran before its last bounce, once.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.roll_back),
    properties=CLAIMED,
    constants={**CELL, "max_rollbacks": 1},
    settings=SETTINGS,
    faults="one process that is rolled back; the bounces wait for nothing",
    not_modelled=WITHOUT_TASKS,
)

OFFLINE = Model(
    name="matrix_offline",
    doc="As matrix; all processes are stopped, and started with the new release.",
    init=all_old,
    actions=(operator.stop_all, operator.start, *GROUP),
    properties=(*VERSIONS, *ENDS, properties.witnesses.upgraded),
    constants={**CELL, "offline": True},
    settings=SETTINGS,
    faults="none; former memberships end in any order",
    not_modelled=WITHOUT_TASKS,
)

MODELS = [MATRIX, CRASH, EXPIRY, FAILOVER, OFFLINE, ROLLBACK]
