"""impl.kraft does what spec.kraft does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`. Together these take nearly every action that the implementation has a step for.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.spec_side import kernel_of
from checker.explicit.search.breadth_first import search
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel, bind_model, load, load_spec
from impl.adapters.kraft import SYSTEM
from impl.adapters.kraft.system import STEPS


@dataclass(frozen=True)
class Pin:
    """A model of spec.kraft, what is set in it, and how much of it and of the product there is.

    probes: messages that are tried though nobody has sent them; None where they are not counted.
    """

    model: str
    changes: dict[str, int] = field(hash=False)
    transitions: int = 0
    pairs: int = 0
    probes: int | None = None

    def __str__(self) -> str:
        return ",".join([self.model, *(f"{name}={value}" for name, value in self.changes.items())])

    def load(self) -> BoundModel:
        return load(f"kraft/{self.model}", {name: str(value) for name, value in self.changes.items()})


PINS = [
    Pin("late", {"max_crashes": 1, "lifecycle_in_flight": 1}, 29_780, 5_605),
    Pin("twins_spurious", {"max_crashes": 0}, 7_109, 1_617, 570),
    Pin("twins", {"max_crashes": 0, "max_disk_losses": 0}, 24_295, 3_465),
    Pin("zombie", {"max_crashes": 0, "max_disk_losses": 0, "max_early_expiries": 2}, 287_472, 45_507),
    Pin("isr_spurious", {"max_early_expiries": 0}, 49_758, 9_032, 709),
    Pin("shutdown", {"max_crashes": 0, "max_early_expiries": 0}, 5_943, 1_490, 1_960),
    Pin("shutdown_late", {"max_crashes": 0}, 40_072, 6_591),
    Pin("lifecycle", {"max_crashes": 1, "max_failovers": 1}, 3_099, 1_102, 451),
    Pin("reassignment", {"max_reassignments": 1, "max_early_expiries": 0}, 4_780, 2_509, 1_221),
    Pin("reassignment", {"max_reassignments": 1, "spare_brokers": 0, "max_early_expiries": 0}, 520, 448, 717),
    Pin("reassignment", {"max_reassignments": 0}, 183, 61),
    Pin("topics", {"alter_in_flight": 1, "max_topics": 1, "max_early_expiries": 0, "partitions": 1}, 3_491, 1_308, 483),
    Pin("topics", {"alter_in_flight": 1, "max_topics": 1, "max_early_expiries": 0, "max_reassignments": 0}, 495, 315),
    Pin("topics", {"alter_in_flight": 1, "max_topics": 1, "max_reassignments": 0, "partitions": 1}, 16_814, 4_608),
    Pin("unregistered", {"lifecycle_in_flight": 1, "alter_in_flight": 1, "max_crashes": 0}, 18_109, 3_103),
    Pin("metadata", {"max_crashes": 0}, 27_102, 5_019),
    Pin("election", {}, 21_522, 6_297),
    Pin("creation", {}, 37_525, 13_159),
    Pin("refusal", {"max_failovers": 1}, 24_688, 9_117, 800),
    Pin("snapshot", {"lifecycle_in_flight": 1, "max_crashes": 0}, 22_050, 5_030),
    Pin("quorum", {"max_failovers": 1, "pending_batches": 1}, 102_236, 25_205),
    Pin("failover_record", {"max_early_expiries": 0, "pending_batches": 1}, 71_013, 14_271),
    Pin("failover_crash", {"max_failovers": 0}, 4_732, 1_685, 386),
    Pin("deletion", {"max_failovers": 0}, 24_134, 6_149),
    Pin("unregistration", {"lifecycle_in_flight": 1, "max_crashes": 0}, 25_224, 7_422),
    Pin("removal", {"max_unregistrations": 0, "snapshots": 0}, 6_544, 3_024),
    Pin("failover_reassignment", {"max_failovers": 0, "pending_batches": 1}, 4_965, 1_054),
    Pin("lossy", {"max_crashes": 0, "max_disk_losses": 0}, 10_560, 1_464),
    Pin("lossy", {"brokers": 1}, 4_705, 1_573),
    Pin("unfencing_ends", {"brokers": 1}, 2_540, 788, 140),
    Pin("stuck_reassignment", {"max_crashes": 0}, 427, 245),
    Pin("operated_shutdown", {"brokers": 1}, 4_995, 1_931, 319),
    Pin("refused", {"max_early_expiries": 0, "max_crashes": 0}, 7_988, 1_425, 226),
    Pin("listed_shutdown", {"max_crashes": 0}, 5_256, 1_456, 671),
    Pin("restarts", {"max_shutdowns": 1}, 2_473, 1_140, 1_307),
    Pin("rolling", {"max_shutdowns": 1, "max_failovers": 0}, 11_912, 4_220, 6_466),
    Pin("leases_end", {"max_crashes": 1, "max_failovers": 1}, 7_188, 2_180, 451),
    Pin("changes_end", {"max_crashes": 0}, 4_660, 1_257, 570),
    Pin("open", {}, 2_612, 210, 3_983),
    Pin("open_unregistered", {}, 2_712, 205, 4_217),
    Pin("open_recreated", {}, 9_400, 633, 15_957),
    Pin("open_growing", {}, 2_684, 204, 8_621),
    Pin("open_shutdown", {"brokers": 1}, 387, 45, 322),
    Pin("open_rolling", {"brokers": 2, "max_shutdowns": 1}, 2_534, 107),
    Pin("elections_end", {"max_failovers": 2}, 2_706, 1_084),
    Pin("snapshot_reassignment", {"max_failovers": 0}, 8_854, 1_324, 348),
    Pin("snapshot_reassignment", {"snapshots": 0, "pending_batches": 1}, 106_659, 22_786, 492),
    Pin("reassignment_ends", {"max_crashes": 0}, 4_788, 2_184, 2_391),
    Pin("moved_disk", {"max_crashes": 0}, 9_456, 1_624, 1_297),
    Pin("moved_record", {"max_crashes": 0}, 297_415, 57_954, 4_696),
    Pin("failover_shutdown", {"max_failovers": 0}, 19_798, 6_202, 1_308),
    Pin("failover_twins", {"max_failovers": 0}, 5_242, 1_342, 136),
    Pin("failover_twins", {"max_early_expiries": 0}, 159_840, 34_408, 226),
    Pin("failover_ends", {"max_crashes": 0, "max_shutdowns": 0}, 5_226, 1_746, 113),
    Pin("failover_ends", {"max_crashes": 0}, 97_059, 29_024, 1_405),
]  # fmt: skip
NOT_PINNED = {
    "membership": "the seeded faults have it; whole it takes minutes",
    "recreated": "the seeded faults have it; whole it takes minutes",
    "isr": "the seeded faults have its first levels; three brokers with a crash are millions of transitions",
    "full": "it does not close",
    "large": "hundreds of millions of transitions",
    "open_three": "messages that are not under way take minutes; without these it is driven below",
    "failover": "as small as it can be made it has a million transitions; failover_record has its steps and more",
    "failover_changes": "3,282,356 transitions with its one failover, and next to none without",
    "stopped_record": "as small as it can be made it has 168,421 transitions; shutdown and lossy have its steps",
    "shutdown_ends": "the behaviours of restarts",
    "restarts_end": "those of restarts, and a crash",
}
"""Models that could be driven, and why no test does."""
SMALL = next(pin for pin in PINS if pin.model == "unfencing_ends")
WITH_REQUESTS = {"handle_registration", "handle_heartbeat", "handle_alter_isr"}


LONG = pytest.mark.long("more than 10,000 transitions or messages are driven")
LARGE = pytest.mark.large("more than 70,000 transitions are driven: a minute or two")


def tier(pin: Pin) -> list[pytest.MarkDecorator]:
    most = max(pin.transitions, pin.probes or 0)
    return [LARGE] if pin.transitions > 70_000 else [LONG] if most > 10_000 else []


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize(
    ("pin", "jobs"),
    [*(pytest.param(pin, 1, marks=tier(pin)) for pin in PINS), (SMALL, 2)],
    ids=str,
)  # fmt: skip
def test_conforms(pin: Pin, jobs: int) -> None:
    """Every transition of the spec is driven, and nothing diverges. Some actions a smaller model never takes."""
    model = pin.load()
    report = conform(model, SYSTEM, "kraft", ConformOptions(jobs))
    assert report.divergence is None and report.verdict in ("conforms", "vacuous")
    assert report.counts.transitions == report.transitions == pin.transitions
    assert report.pairs == pin.pairs
    assert pin.probes is None or report.probes == pin.probes
    assert report.probes > 0 or not WITH_REQUESTS & {action.name for action in model.model.actions}


@LONG
def test_three_brokers_that_ask_at_will() -> None:
    report = conform(load("kraft/open_three"), SYSTEM, "kraft", ConformOptions(2, probes=False))
    assert (report.verdict, report.counts.transitions, report.transitions) == ("conforms", 40_272, 40_272)
    assert (report.receivers, report.probes) == (0, 0)


@pytest.mark.parametrize(
    ("model", "why"),
    [("expansion", "fall_behind"), ("failover_images", "apply_previous"), ("stuck_reassignment", "come_back")],
)
def test_what_it_cannot_be_driven_through_is_reported(model: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        conform(load(f"kraft/{model}"), SYSTEM, "kraft", ConformOptions())


def test_every_model_is_driven_or_it_is_said_why_not() -> None:
    spec = load_spec("kraft")
    names = [model.name for model in spec.models if not model.name.startswith("timed")]  # those have another state
    models = [bind_model(spec, name) for name in names]
    steps = {model.model.name: [action.name for action in model.model.actions] for model in models}
    driven = {model.model.name for model in models if not SYSTEM.lacks(model.constants, steps[model.model.name])}
    assert driven - {pin.model for pin in PINS} == NOT_PINNED.keys()


def test_a_cluster_can_be_sent_to_another_process() -> None:
    model = PINS[0].load()
    (state,) = model.initial_states()
    cluster = SYSTEM.begin(model.constants, state)
    again = pickle.loads(pickle.dumps(cluster))
    assert SYSTEM.observe(again) == SYSTEM.observe(cluster)
    assert SYSTEM.key(again) == SYSTEM.key(cluster)


def taken(pin: Pin) -> set[str]:
    """The actions that a model takes at all."""
    model = pin.load().with_properties([])
    initial = [model.state_type.encode(state) for state in model.initial_states()]
    found = search(kernel_of(model), initial, threads=1)
    return {action.name for action, ran in zip(model.model.actions, found.actions, strict=True) if ran.fired}


@pytest.mark.long("every model is searched")
def test_every_step_is_taken_in_some_model() -> None:
    assert set().union(*map(taken, PINS)) >= set(STEPS)
