"""The validator against brute force: traces of random walks, thinned out, corrupted, with events missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from checker.lang.loader import load
from checker.running.arrays import Bits, Longs, Words
from checker.validate.candidates import Candidates, Numbers
from checker.validate.corpus import CorpusOptions, validate
from checker.validate.events import EventKinds
from checker.validate.validator import ACCEPTED, CUT, REJECTED
from tests.validate.oracle import Oracle
from tests.validate.walks import Walks, text

ROOT = Path(__file__).parent.parent.parent
VALUES = "tests/models/collections_of_values.py"
MODELS = [
    *[f"tests/models/ordinals.py/{name}" for name in ("bumps", "sessions", "two_sorts", "swap", "stale")],
    *[f"{VALUES}/{name}" for name in ("bag", "stamped_bag", "first_served", "orders", "granted")],
    *[f"tests/models/shapes.py/{name}" for name in ("locks", "mail", "copied_levels", "turns", "fleet")],
    *[f"tests/models/members.py/{name}" for name in ("many", "posted", "quorums", "linked", "claims")],
    "docs/tutorial/lease.py", "tests/models/two_phase_commit.py", "kraft/membership",
]  # fmt: skip
STEPS = 6


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", MODELS)
def test_the_verdict_is_that_of_brute_force(name: str) -> None:
    compare(name, walks=8 if name == "kraft/membership" else 25)


def compare(name: str, walks: int) -> None:
    """Judge so many walks, and what is made of them, by the validator and by brute force."""
    model = load(str(ROOT / name) if ".py" in name else name)
    made = Walks(model, seed=7)
    found: Counter[tuple[str, str]] = Counter()
    for silent in (0, 1):
        oracle = Oracle(model, silent)
        cases = []
        for _ in range(walks):
            trace = made.walk(STEPS - 3 * silent)
            cases.append(("whole", trace))
            cases.append(("corrupted", made.corrupted(trace)))
            thin = made.partial(trace)
            cases.append(("thin", thin))
            cases.append(("thin and corrupted", made.corrupted(thin) if thin else thin))
            if silent and len(trace) > 2:
                cases.append(("shortened", trace[:1] + trace[2:]))
        files = [(f"{kind} {i}", text(trace)) for i, (kind, trace) in enumerate(cases)]
        summary = validate(model, files, CorpusOptions(silent=silent))
        not_accepted = {verdict.trace: verdict for verdict in summary.verdicts}
        for (label, content), (kind, trace) in zip(files, cases, strict=True):
            verdict = not_accepted.get(label)
            if verdict is not None and not verdict.line:
                continue  # a corruption made it unreadable
            expected = ACCEPTED if oracle.accepts(trace) else REJECTED
            if expected == REJECTED and verdict is not None and verdict.reason == CUT:
                continue  # a step beyond the model's bounds could be meant, which plain Python does not take
            assert (verdict.status if verdict else ACCEPTED) == expected, f"{verdict}\n{content.decode()}"
            found[kind, expected] += 1
    assert not found["whole", REJECTED] and not found["thin", REJECTED]
    assert found["corrupted", REJECTED] > walks // 3, found


def blind_to_ordinals(numbers: Numbers, low: Longs, high: Longs) -> Bits:
    return np.ones(len(low), dtype=bool)


def blind_to_survivors(numbers: Numbers, before: Candidates, words: Words, survivors: Longs) -> Candidates:
    return numbers.unbound(before.item, words)


def deaf_to_parameters(kinds: EventKinds, wanted: Longs, instances: Longs) -> Bits:
    return np.ones(len(wanted), dtype=bool)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("owner", "method", "fault", "model"), [
    (Numbers, "_narrowed", blind_to_ordinals, "tests/models/ordinals.py/sessions"),
    (Numbers, "after", blind_to_survivors, "tests/models/ordinals.py/sessions"),
    (EventKinds, "fits", deaf_to_parameters, "docs/tutorial/lease.py"),
])  # fmt: skip
def test_a_validator_with_a_fault_is_found_out(
    owner: type, method: str, fault: object, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, fault)
    with pytest.raises(AssertionError, match="accepted"):
        compare(model, walks=150)
