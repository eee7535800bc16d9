"""Small specs made at random in which much depends on counters, bags, sets and sequences and their bounds."""

from __future__ import annotations

import random

HEAD = '''"""A spec made at random."""

from typing import Annotated

from checker.lang import (
    AtMost, Bag, MemberOf, Model, Nat, Option, Range, Seq, Set, action, choose, constants, constraint, fold, init,
    invariant, message, require, state, transition_invariant,
)


@constants
class Size:
    top: int = 2
    "Bound of the counters."
    room: int = 2
    "Bound of the bag and of the sequence."


@message
class Letter:
    number: Annotated[int, Range(0, 2)]
    urgent: bool


Count = Annotated[int, Nat(lambda: Size.top)]
Letters = Annotated[Bag[Letter], AtMost(lambda: Size.room)]
Log = Annotated[Seq[bool], AtMost(lambda: Size.room)]
Seen = Annotated[Set[Letter], AtMost(lambda: Size.room)]
Sent = Annotated[Letter, MemberOf("letters")]


@state
class Office:
    a: Count
    b: Count
    letters: Letters
    log: Log
    seen: Seen
    flag: bool
    level: Annotated[int, Range(0, 2)]


@init
def opened() -> Office:
    return Office(0, 0, Bag(), (), frozenset(), False, 0)


def both(so_far: bool, entry: bool) -> bool:
    return so_far and entry


@constraint
def not_far(s: Office) -> bool:
    """Not further than this."""
    return s.b < 2 or not s.flag
'''

CONDITIONS = [
    "s.a > {n}", "s.a == {n}", "s.a < {n}", "s.a != s.b", "s.a + s.b > {n}", "s.b in {{1, {n}}}",
    "len(s.letters) > {n}",
    "len(s.letters) == 0", "any(m.urgent for m in s.letters)", "not any(m.number == {k} for m in s.letters)",
    "all(m.number < {k} for m in s.letters)", "any(m != n for m in s.letters for n in s.letters)",
    "any(m.number == 0 for m in s.letters) and any(m.number == 1 for m in s.letters)",
    "sum(1 for m in s.letters if m.urgent) > {n}", "Letter({k}, True) in s.letters",
    "s.letters.count(Letter({k}, False)) > {n}", "len(s.log) > {n}", "any(s.log)", "all(s.log) and len(s.log) > 0",
    "s.flag", "not s.flag", "s.level == {k}", "s.level < 2", "True",
    "s.a // 2 == {k}", "s.a % 2 == 1", "(s.a + s.b) % 3 == {k}", "s.b // (s.level + 1) > {k}",
    "fold(both, s.log, True)",
    "len(s.seen) > {n}", "Letter({k}, True) in s.seen", "any(m.number == {k} for m in s.seen)",
    "all(m.urgent for m in s.seen)", "len(s.seen) > 0 and choose(m.number for m in s.seen) == {k}",
]  # fmt: skip
LETTER_CONDITIONS = ["letter.urgent", "letter.number == {k}", "letter.number < s.level + 1",
                     "s.letters.count(letter) > {n}",
                     "any(m != letter for m in s.letters)", "not any(m.urgent for m in s.letters)"]  # fmt: skip
EFFECTS = [
    "s.a += 1", "s.b += 1", "s.b += 2", "s.a = 0", "s.a = s.b", "s.a = min(s.a + 1, {n})", "s.flag = True",
    "s.flag = not s.flag", "s.level = {k}", "s.level = min(s.a, 2)", "s.level = min(len(s.letters), 2)",
    "s.letters = s.letters.add(Letter({k}, False))", "s.letters = s.letters.add(Letter({k}, s.flag))",
    "s.letters = s.letters.add(Letter(0, True)).add(Letter(1, False)).add(Letter(2, False))",
    "s.letters = s.letters.add(Letter({k}, any(m.urgent for m in s.letters)))",
    "s.log = s.log + (s.flag,)", "s.log = (True, False, True)", "s.flag = s.a > {n}", "s.flag = len(s.log) > {n}",
    "s.flag = any(m.number == {k} for m in s.letters)", "if {c}:\n        s.flag = True", "if {c}:\n        s.a += 1",
    "count: Count = s.a + s.level\n    s.flag = count == {k}",
    "s.seen |= {{Letter({k}, False)}}", "s.seen = s.seen | {{Letter({k}, s.flag)}}", "s.seen -= {{Letter({k}, False)}}",
    "s.seen = frozenset({{Letter(0, True), Letter(1, False), Letter({k}, s.flag)}})", "s.level = s.a % 3",
    "s.level = min(len(s.seen), 2)", "s.flag = s.b // 2 > {k}", "s.flag = fold(both, s.log, s.flag)",
]  # fmt: skip
LETTER_EFFECTS = [
    "s.letters = s.letters.remove(letter)",
    "s.level = letter.number",
    "s.flag = letter.urgent",
    "s.letters = s.letters.remove(letter).add(Letter(letter.number, True))",
    "s.letters = s.letters.add(letter)",
    "s.seen |= {{letter}}",
]
INVARIANTS = [
    "not s.flag", "s.level < 2", "s.a <= {n}", "s.a <= s.b", "len(s.letters) <= {n}", "len(s.log) <= {n}",
    "all(m.number <= 1 for m in s.letters)", "all(not m.urgent for m in s.letters)", "not all(s.log) or len(s.log) < 2",
    "all(m.number == n.number for m in s.letters for n in s.letters)", "not s.flag or s.level == 0",
    "any(m.number == 0 for m in s.letters) or not s.flag", "all(m.number <= s.level for m in s.letters)",
    "not (any(m.number == 0 for m in s.letters) and any(m.number == 1 for m in s.letters))",
    "s.a % 2 == 0 or not s.flag", "s.a // 2 <= s.level", "all(not m.urgent for m in s.seen)", "len(s.seen) <= {n}",
    "all(m.number <= n.number or m.urgent for m in s.seen for n in s.seen)", "fold(both, s.log, True)",
]  # fmt: skip
TRANSITIONS = [
    "before.level <= after.level", "not before.flag or after.flag", "after.a <= {n}", "before.a <= after.a",
    "len(after.letters) <= {n}", "before.flag == after.flag or any(m.urgent for m in before.letters)",
    "all(after.letters.count(m) >= before.letters.count(m) for m in before.letters)",
    "before.level == after.level or not any(m.urgent for m in before.letters)",
    "all(m in after.letters or m.urgent for m in before.letters)", "all(m in after.seen for m in before.seen)",
    "before.flag == after.flag or len(after.seen) <= {n}",
]  # fmt: skip


def source(seed: int) -> str:
    """A spec with the model `drawn`: three or four actions, five claims."""
    draw = random.Random(seed)

    def made(texts: list[str]) -> str:
        condition = draw.choice(CONDITIONS).format(n=draw.randint(0, 3), k=draw.randint(0, 2))
        return draw.choice(texts).format(n=draw.randint(0, 3), k=draw.randint(0, 2), c=condition)

    text, names = HEAD, []
    for number in range(draw.randint(3, 4)):
        letter = draw.random() < 0.4
        guards = [made(CONDITIONS + LETTER_CONDITIONS * letter) for _ in range(draw.randint(0, 2))]
        effects = [made((LETTER_EFFECTS if letter else []) + EFFECTS) for _ in range(draw.randint(1, 2))]
        body = "\n    ".join([f"require({g})" for g in guards] + effects)
        names.append(f"act_{number}")
        text += f'''

@action(who="somebody", source="-")
def act_{number}(s: Office{", letter: Sent" * letter}) -> None:
    """Something."""
    {body}
'''
    claims = []
    for number in range(5):
        state, texts = (("s: Office", INVARIANTS), ("before: Office, after: Office", TRANSITIONS))[number > 2]
        kind = "invariant" if number < 3 else "transition_invariant"
        claims.append(f"claim_{number}")
        text += f'''

@{kind}(source="-")
def claim_{number}({state}) -> bool:
    """Something."""
    return {made(texts)}
'''
    listed = f"[{', '.join(names)}], [{', '.join(claims)}]"
    more = ", constraints=[not_far]" if draw.random() < 0.2 else ""
    return f'{text}\n\nMODELS = [Model("drawn", "Drawn.", opened, {listed}{more})]\n'
