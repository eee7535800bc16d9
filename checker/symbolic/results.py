"""Questions to a proof, and its results. Plain values: they travel between processes."""

from __future__ import annotations

from dataclasses import dataclass

PROVED, REFUTED, UNKNOWN, UNUSED = "proved", "refuted", "unknown", "not used"

TYPES = "types are kept"
NO_ERROR = "no step breaks down"


@dataclass(frozen=True)
class Claim:
    """Something to be shown of every step. `index`: its place in the program's properties, None for the two above.

    `kind`: "invariant", "lemma", "transition invariant", "refinement", "runtime error" or "types". Invariants and
    lemmas may be assumed of the state that a step starts from.
    """

    name: str
    kind: str
    index: int | None

    @property
    def assumable(self) -> bool:
        return self.kind in ("invariant", "lemma")


@dataclass(frozen=True)
class Query:
    """One question: does a step by `instance` from a state with the assumed invariants keep `claim`?

    claim: its number in the list of claims. assumed: the claims that may be assumed. widened: the network is a
    growing set of messages (see `network`), and guards that rest on a bound are left out (see `bounds`).
    """

    claim: int
    instance: int
    assumed: frozenset[int]
    widened: bool = False


@dataclass(frozen=True)
class Answer:
    """The solver's answer to a query. used: of the assumed claims, those that the proof needs.

    reason: of an unknown, the solver's words ("timeout", ...).
    """

    query: Query
    verdict: str
    seconds: float
    used: frozenset[int] = frozenset()
    reason: str = ""


@dataclass(frozen=True)
class Counterexample:
    """A counterexample to induction: the codes of a state that has all that was assumed, a step out of it, and the
    codes of the state after it, which breaks the claim (None: the step itself breaks down)."""

    instance: int
    before: tuple[int, ...]
    after: tuple[int, ...] | None


@dataclass
class Finding:
    """The finding on one claim.

    verdict: PROVED, REFUTED (some step breaks it, or an initial state does), UNKNOWN, or UNUSED (a lemma that no
    proof uses: nothing was asked of it). rests_on: the claims that its proof uses, and those that these use.
    reason: of an unknown, why. initial: an initial state that breaks it.
    """

    claim: Claim
    verdict: str
    queries: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    rests_on: frozenset[int] = frozenset()
    reason: str = ""
    initial: tuple[int, ...] | None = None
    counterexample: Counterexample | None = None
