"""Numbers as large as the kernel can hold mean the same to it as to plain Python."""

from __future__ import annotations

from pathlib import Path

from checker.lang.loader import load
from tests.differential import Pair

SPEC = """
from __future__ import annotations

from typing import Annotated

from checker.lang import Identity, Range, action, init, require, state

LARGEST = (1 << 61) - 1
Half = Annotated[int, Range(-(1 << 61), (1 << 61) - 1)]
Upper = Annotated[int, Range(0, (1 << 63) - 1)]


class Corner(Identity, size=4): ...


@state
class Numbers:
    x: Half
    y: Half
    z: Upper


def at(corner: Corner) -> Half:
    if corner == Corner(0):
        return -LARGEST - 1
    if corner == Corner(1):
        return LARGEST
    if corner == Corner(2):
        return -1
    return 0


@init
def start(x: Corner, y: Corner, z: Corner) -> Numbers:
    return Numbers(x=at(x), y=at(y), z=at(z) * 4 + 3 if at(z) > 0 else 0)


@action(who="x", source="-")
def add(s: Numbers) -> None:
    '''Outside its range in some of these states.'''
    s.x = s.x + s.y


@action(who="x", source="-")
def subtract(s: Numbers) -> None:
    '''A guard on a number at the edge of 64 bits.'''
    require(s.x - s.y >= -1)
    s.y = s.x - s.y


@action(who="x", source="-")
def spread(s: Numbers) -> None:
    '''From one type to another.'''
    require(s.x + s.x < s.y + s.y or s.z == 9223372036854775807)
    s.z = s.x + s.x
"""


def test_numbers_at_the_edge_of_64_bits(tmp_path: Path) -> None:
    file = tmp_path / "numbers.py"
    file.write_text(SPEC, encoding="utf-8")
    pair = Pair(load(str(file)))
    states = {pair.words(state) for state in pair.model.initial_states()}
    assert len(states) == 32
    for state in states:
        for after in pair.compare(state):
            pair.compare(after)
