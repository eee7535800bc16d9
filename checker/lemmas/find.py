"""A proof of a model without the lemmas that it declares: explore, mine, Houdini, then prove with what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.explicit.check import kernel_of
from checker.explicit.search.breadth_first import search
from checker.lang.frontend import compile_model
from checker.lang.graph import Graph
from checker.lang.interpret import evaluate
from checker.lang.ir import BoundReads, Property, support
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.lemmas.features import Columns, chunks
from checker.lemmas.fixpoint import Fixpoint, houdini
from checker.lemmas.mining import Candidate, Mine
from checker.lemmas.templates import Templates
from checker.running.limits import Limits
from checker.running.limits import Progress as Searched
from checker.running.pool import OutOfTime
from checker.symbolic.encoding import program_nodes
from checker.symbolic.induction import PROVABLE, Progress, Proof, ProofOptions, prove_program, unproved
from checker.symbolic.results import PROVED
from checker.verdicts import INTERRUPTED

_CHUNK = 1 << 16  # states


@dataclass(frozen=True)
class Found:
    """A proof with lemmas that were found. lemmas: name -> text, of those that it uses, each of every i and every m.

    explored: a text on the states that refute candidates; mined: the candidates that none of them refutes; asked: of
    these, and of the model's own invariants, those that the types do not imply; inductive: what Houdini left of them.
    """

    proof: Proof
    lemmas: dict[str, str]
    explored: str
    mined: int
    asked: int
    inductive: int

    def text(self) -> str:
        """For people: the counts, and each lemma as text."""
        lines = [
            f"lemmas from {self.explored}: {self.mined:,} candidates, "
            f"{self.asked:,} to ask of with the model's own invariants, {self.inductive:,} inductive together",
            *[f"  {name}: {text}" for name, text in self.lemmas.items()],
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {"explored": self.explored, "mined": self.mined, "asked": self.asked, "inductive": self.inductive,
                "lemmas": self.lemmas}  # fmt: skip


def find_lemmas(
    model: BoundModel, options: ProofOptions, limits: Limits, *,
    searched: Callable[[Searched], None] | None = None, progress: Callable[[Progress], None] | None = None,
) -> Found:  # fmt: skip
    """Prove the properties of a model, which must be in force, with no lemma but such as are found here.

    limits: of the search. One that stops early leaves candidates that say too much: Houdini drops them, and what
    weaker ones could have shown is lost, but nothing that is proved rests on it.
    """
    provable = model.with_properties([p for p in model.model.properties if p.kind in PROVABLE])
    provable = replace(provable, model=replace(provable.model, lemmas=[]))
    program = compile_model(provable, options.while_compiling())
    limits = replace(limits, time_limit_s=options.left_s(limits.time_limit_s))
    try:
        explored, mined = _mined(model, program, options, limits, searched)
    except (KeyboardInterrupt, OutOfTime) as end:
        return Found(unproved(provable, program, options.why(end)), {}, "no state", 0, 0, 0)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    own = [
        Candidate(p.name, p.condition) for p in program.properties
        if p.kind == "invariant" and p.condition is not None
        and not any(evaluate(p.condition, codes, {}, {}) for codes in initial)
    ]  # fmt: skip
    try:
        left = houdini(provable, program, [*own, *mined], options, progress)
    except (KeyboardInterrupt, OutOfTime) as end:  # what is left so far need not be inductive
        return Found(unproved(provable, program, options.why(end)), {}, explored, len(mined), 0, 0)
    lemmas = [mined[n - len(own)] for n in sorted(left.kept) if n >= len(own)]
    return _proved(provable, program, lemmas, options, progress, explored, len(mined), left)


def _mined(
    model: BoundModel,
    program: Program,
    options: ProofOptions,
    limits: Limits,
    searched: Callable[[Searched], None] | None,
) -> tuple[str, list[Candidate]]:
    """(a text on what was explored, the candidates that it does not refute). Raises OutOfTime."""
    kernel = kernel_of(model.with_properties([]))
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    result = search(kernel, initial, threads=options.jobs, limits=limits, progress=searched)
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt

    def states() -> Iterator[Columns]:
        return (Columns(kernel.layout, words) for words in chunks(result.exploration.shards, _CHUNK))

    graph = Graph(1 + max(node.serial for node in program_nodes(program)))
    families = Templates(model.state_type, program, graph).families()
    found = [c for bag, facts in families if facts for c in Mine(bag, facts, graph, states(), options.ask).candidates()]
    stopped = f" (stopped: {result.stopped})" if result.stopped is not None else ""
    return f"{result.distinct:,} states{stopped}", found


def _proved(
    model: BoundModel, program: Program, lemmas: Sequence[Candidate], options: ProofOptions,
    progress: Callable[[Progress], None] | None, explored: str, mined: int, left: Fixpoint,
) -> Found:  # fmt: skip
    """The proof with few of the lemmas: those that the last one used, as long as they grow fewer."""
    own = len(program.properties)
    proof, names = _with_lemmas(model, program, lemmas, options, progress)
    while True:
        used = {c for f in proof.findings if f.verdict == PROVED and f.claim.kind != "lemma" for c in f.rests_on}
        needed = [lemmas[c - own] for c in sorted(used) if c >= own]
        if len(needed) == len(lemmas):
            break
        lemmas = needed
        proof, names = _with_lemmas(model, program, lemmas, options, progress)
    return Found(proof, names, explored, mined, left.asked, len(left.kept))


def _with_lemmas(
    model: BoundModel, program: Program, lemmas: Sequence[Candidate], options: ProofOptions,
    progress: Callable[[Progress], None] | None,
) -> tuple[Proof, dict[str, str]]:  # fmt: skip
    names = {f"found_{n}": lemma for n, lemma in enumerate(lemmas, start=1)}
    more = [Property(name, "invariant", lemma.condition, _reads(program, lemma)) for name, lemma in names.items()]
    some = program.quantifiers | {lemma.condition.serial: 1 for lemma in lemmas}
    enlarged = replace(program, properties=[*program.properties, *more], quantifiers=some)
    proof = prove_program(model, enlarged, set(names), options, progress)
    return proof, {name: lemma.text for name, lemma in names.items()}


def _reads(program: Program, lemma: Candidate) -> BoundReads:
    """A lemma is broken where some one message breaks it."""
    read = support(lemma.condition)
    bags = [frozenset(i for slot in bag.slots for i in slot) for bag in program.bags]
    return BoundReads(quantified=frozenset((leaves, 1) for leaves in bags if leaves & read))
