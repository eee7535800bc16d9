"""The compiled kernel against the plain reading of the IR, on random programs and states."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.layout import LayoutError
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Path, Target, shortest
from checker.explicit.search.results import SearchResult
from checker.explicit.search.walk import Walker
from checker.lang.graph import Graph
from checker.lang.ir import Kind, Leaf, Property
from checker.lang.program import Program
from checker.running.limits import Limits
from tests.explicit.oracle import Expected, Oracle
from tests.explicit.random_models import RandomProgram, Size, interpret, random_state

SIZES = st.sampled_from(
    [
        Size(plain=3, ordinals=0, events=1, depth=2),
        Size(),
        Size(plain=1, ordinals=6, actions=4, depth=2),
        Size(plain=2, ordinals=2, bag_slots=3, events=1),
        Size(plain=25, ordinals=12, bag_slots=5, actions=2, instances=6, depth=4),
        Size(plain=3, ordinals=1, hidden=True, events=1),
    ]
)
FEW = settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module", autouse=True)
def small_levels_are_shared_too() -> Iterator[None]:
    """Else the levels of small models would all be expanded by one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checker.explicit.search.breadth_first.SMALL", 0)
        yield


@given(st.integers(0, 2**32), SIZES)
@FEW
def test_every_instance_ends_as_the_ir_says(seed: int, size: Size) -> None:
    chance = random.Random(seed)
    program = RandomProgram(chance, size).program()
    kernel = compile_kernel(program, f"random-{seed}", record_outcomes=True)
    walker = Walker(kernel)
    for _ in range(40):
        codes = random_state(chance, program)
        words = kernel.layout.pack(codes)
        steps = {step.instance: step for step in walker.expand(words).steps}
        for outcome, instance in zip(walker.outcomes(words), program.instances, strict=True):
            expected = interpret(program, kernel.layout, codes, instance)
            assert outcome.site == expected.site
            if expected.codes is not None:
                step = steps[outcome.instance]
                assert step.words == outcome.words == kernel.layout.pack(expected.codes)
                assert step.outside == expected.outside
                assert step.broken & 2 == expected.broken  # property 1 is the one of steps


def _facts(result: SearchResult) -> Expected:
    return Expected(
        result.generated,
        result.distinct,
        result.depth,
        result.actions,
        result.sites,
        result.broken,
        result.witnesses,
        result.errors,
        result.deadlock,
    )


@pytest.mark.long("5 s of CPU")
@given(st.integers(0, 2**32), SIZES, st.booleans())
@FEW
def test_search_finds_what_the_oracle_finds_for_any_number_of_shards(seed: int, size: Size, stop: bool) -> None:
    chance = random.Random(seed)
    program = RandomProgram(chance, size).program()
    kernel = compile_kernel(program, f"random-{seed}")
    initial = [random_state(chance, program) for _ in range(3)]
    expected = Oracle(program, stop).search(initial, 4)
    paths: list[dict[Target, Path]] = []
    for threads in (1, 2, 7):
        limits = Limits(max_depth=4, memory_bytes=1 << 28)
        result = search(kernel, initial, threads=threads, limits=limits, all_violations=not stop)
        assert _facts(result) == expected
        targets = [Target(property=p) for p in result.broken | result.witnesses]
        targets += [Target(site=site) for site in result.errors]
        targets += [Target(deadlock=True)] if result.deadlock else []
        paths.append({target: shortest(kernel, result, target) for target in targets})
    assert paths[0] == paths[1] == paths[2]
    for target, path in paths[0].items():
        _check_path(program, target, path, expected)


def _check_path(program: Program, target: Target, path: Path, expected: Expected) -> None:
    levels = expected.errors if target.site is not None else expected.broken | expected.witnesses
    level = expected.deadlock
    if not target.deadlock:
        number = target.site if target.site is not None else target.property
        assert number is not None
        level = levels[number]
    assert len(path.words) == level
    layout = Oracle(program, False).layout
    for i, instance in enumerate(path.instances):
        end = interpret(program, layout, layout.unpack(path.words[i]), program.instances[instance])
        if target.site is not None and i == len(path.instances) - 1:
            assert end.site == target.site == path.site
        else:
            assert end.codes is not None
            assert layout.pack(end.codes) == path.words[i + 1]


def _program(leaves: list[Leaf], properties: list[Property], fresh: dict[str, int]) -> Program:
    g = Graph()
    return Program(leaves, [], ["a"], [], [], properties, g.false, g.true, fresh)


def test_too_many_properties_are_refused() -> None:
    g = Graph()
    properties = [Property(f"p{i}", "invariant", g.false) for i in range(63)]
    with pytest.raises(LayoutError, match="63 properties; at most 62"):
        compile_kernel(_program([Leaf("x", Kind.BOOL)], properties, {}), "many")


def test_too_many_ordinals_are_refused() -> None:
    leaves = [Leaf(f"x{i}", Kind.ORDINAL, sort="Epoch") for i in range(61)]
    with pytest.raises(LayoutError, match="Epoch has 61 places and 2 fresh values"):
        compile_kernel(_program(leaves, [], {"Epoch": 2}), "many")
