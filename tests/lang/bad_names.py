"""Names that are defined twice and must be refused (rule 8)."""

from __future__ import annotations

from tests.lang.bad_spec import HEADER, BadSpec, more

STEP = """
@action(who="clock", source="-")
def step(s: Cluster) -> None:
    '''A step.'''
    s.level = 3


"""
LINE = HEADER.count("\n") + 4  # of its def


def twice(name: str, second: str, reason: str = f"step is defined twice, in lines {LINE} and ") -> BadSpec:
    """An action called step, and then something else of that name."""
    return more(8, name, STEP + second.strip("\n"), reason, "another name")


BAD_NAMES = [
    twice("two actions of one name", """
@action(who="clock", source="-")
«def step(s: Cluster) -> None:»
    '''Copied from the first, and its name forgotten.'''
    s.level = 1
"""),
    twice("an action that a property replaces", """
@invariant(source="-")
«def step(s: Cluster) -> bool:»
    '''Never 3.'''
    return s.level < 3
"""),
    twice("an action that a helper replaces", """
«def step(s: Cluster) -> bool:»
    return s.level < 3
"""),
    twice("an action that a record replaces", """
@record
«class step:»
    level: Level
"""),
    twice("an action that a value replaces", "«step = 1»"),
    twice("an action that an import replaces", "«from enum import auto as step»",
          f"step is defined in line {LINE} and imported in line "),
    twice("an action that an import replaces on a condition", """
if random.random() > 2:
    «from enum import auto as step»
""", f"step is defined in line {LINE} and imported in line "),
    more(8, "two helpers of one name",
         """
         def ready(s: Cluster) -> bool:
             return s.level > 0


         «def ready(s: Cluster) -> bool:»
             return s.level > 1
         """, "ready is defined twice, in lines "),
    more(8, "two types of one name", "«Level = Annotated[int, Range(0, 2)]»", "level is defined twice, in lines "),
    more(8, "a field twice",
         """
         @record
         class Lease:
             level: Level
             «level: Count»
         """, "lease.level is defined twice, in lines "),
]  # fmt: skip
