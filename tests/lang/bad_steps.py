"""Actions, aliases, helpers and anything else that must be refused (rules 5 to 8)."""

from __future__ import annotations

from tests.lang.bad_spec import body, drawn, more, parameter

CALLED = """


@action(who="controller", source="-")
def step(s: Cluster) -> None:
    '''A step.'''
    s.leader = leader_of(s)
"""

ACTIONS = [
    body(7, "a map of an unknown type", "modes = «Map({b: True for b in Broker})»", "where its type is known",
         "say which"),
    body(5, "a guard after an assignment", "s.leader = None\n«require(s.count > 0)»", "after the assignment in line",
         "before"),
    body(5, "a guard after an assignment on one path", "if s.count == 0:\n    s.leader = None\n«require(s.level > 0)»\n"
         "s.level = 0", "after the assignment in line", "before"),
    body(5, "require_some after an assignment", "s.count = 0\nleader = «require_some(s.leader)»\ns.isr = {leader}",
         "after the assignment in line"),
    body(5, "chance", "s.leader = «random.choice((None, broker))»", "not known to specs", "helpers"),
    body(5, "an action inside an action", "«tick(s)»", "an action calls no other", "helper"),
    more(5, "a result",
         """
         @action(who="controller", source="-")
         «def step(s: Cluster) -> Count:»
             '''A step.'''
             s.count = 1
             return s.count
         """, "step returns a value", "assign it"),
    parameter(5, "a parameter without a type", "«broker»", "parameter broker has no type"),
    parameter(5, "a parameter without bounds", "«offset: int»", "int without bounds"),
    parameter(5, "a member of nothing", '«sent: Annotated[Request, MemberOf("netwrok")]»',
              "netwrok is nothing of the state", "network"),
    parameter(5, "a member of no collection", '«mode: Annotated[Mode, MemberOf("mode")]»',
              "mode", "set, bag, sequence"),
    parameter(5, "an index that is not an earlier parameter", '«x: Annotated[bool, MemberOf("sessions[broker]")]»',
              "nothing of the state", "earlier parameter"),
    parameter(5, "a set drawn by no helper", "«broker: Annotated[Broker, MemberOf(lambda s: s.isr)]»", "not a helper",
              "def brokers(s: s) -> set[...]"),
    drawn("what a helper that draws no set returns", "«def chosen(s: Cluster) -> Log:»\n    return s.log",
          "not declared to return a set", "memberof(brokers)"),
    drawn("a set drawn from what is not an earlier parameter", "«def chosen(s: Cluster, mode: Mode) -> Set[Broker]:»\n"
          "    return s.isr", "chosen takes mode", "earlier parameters"),
    drawn("a set that may not exist", "def chosen(s: Cluster) -> Set[Broker]:\n    «return s.isr - {s.log[0]}»",
          "drawn from a set that may not exist: an index outside", "test first"),
    drawn("a set of another type", "def chosen(s: Cluster) -> Set[Mode]:\n    return {s.mode}",
          "declared a broker, and chosen(s) holds mode", "annotated[mode, memberof(chosen)]",
          "«broker: Annotated[Broker, MemberOf(chosen)]»"),
    parameter(5, "a sequence of too many values", "«log: Annotated[Seq[Mode], AtMost(10)]»", "2047 values", "memberof"),
    parameter(5, "a map of ordinals", "«epochs: Map[Mode, BrokerEpoch]»", "no finite list of values", "members of"),
    parameter(5, "a member of another type", '«sent: Annotated[Broker, MemberOf("network")]»',
              "declared a broker, and network holds register | heartbeat", "memberof"),
    parameter(5, "too many values", "«more: Annotated[int, Range(0, 5000)]»", "5001 values, and at most 1024"),
    more(5, "no state",
         """
         @action(who="controller", source="-")
         «def step(broker: Broker) -> None:»
             '''A step.'''
             require(broker == Broker(0))
         """, "first parameter must be the state", "@state"),
    more(5, "any number of parameters",
         """
         @action(who="controller", source="-")
         «def step(s: Cluster, *brokers: Broker) -> None:»
             '''A step.'''
             s.count = 1
         """, "variable number", "each parameter"),
]  # fmt: skip

ALIASES = [
    body(6, "a name for a record that was replaced",
         """
         registration = s.registrations[broker]
         s.registrations[broker] = Registration(epoch=s.epoch, fenced=True)
         «registration.fenced» = False
         """, "assigned as a whole", "read it again"),
    body(6, "a name for a record whose map was replaced",
         """
         registration = s.registrations[broker]
         s.registrations = Map({b: Registration(epoch=s.epoch, fenced=True) for b in Broker})
         s.count = 1 if «registration.fenced» else 0
         """, "assigned as a whole", "read it again"),
    body(6, "a name for an option whose place was cleared",
         """
         session = require_some(s.sessions[broker])
         s.sessions[broker] = None
         s.epoch = «session.epoch»
         """, "assigned as a whole", "read it again"),
    body(6, "a message changed in place", "request = require_some(s.request)\n«request.broker» = broker",
         "assignment to a value", "replace"),
    body(6, "a set changed in place", "«s.isr.add(broker)»", "add", "|"),
    body(6, "a sequence changed in place", "«s.log.append(broker)»", "append", ""),
    body(6, "an element changed in place", "«s.log[0]» = broker", "element of a value", "maps"),
    more(6, "a record in a sequence changed in place",
         """
         @state
         class Odd:
             log: Annotated[Seq[Registration], AtMost(2)]


         @init
         def odd() -> Odd:
             return Odd(log=(Registration(BrokerEpoch(0), True),))


         @action(who="controller", source="-")
         def step(s: Odd) -> None:
             '''A step.'''
             «s.log[0].fenced» = False


         model = Model("odd", "-", odd, [step], [])
         """, "assignment to a value", "replace"),
    body(6, "a bag's change that is dropped",
         "«s.network.add(Heartbeat(broker=broker))»", "result is not used", "assign"),
    body(6, "a set's change that is dropped", "«s.isr | {broker}»", "not used", "assign"),
    body(6, "a name for one of two places",
         """
         registration = s.registrations[Broker(0)] if s.count == 0 else s.registrations[Broker(1)]
         «registration.fenced» = True
         """, "assignment to a value", "replace"),
    body(6, "a name for different places",
         """
         «if s.count == 0:»
             registration = s.registrations[Broker(0)]
         else:
             registration = s.registrations[Broker(1)]
         registration.fenced = True
         """, "different place"),
]  # fmt: skip

HELPERS = [
    more(7, "a helper that calls itself",
         """
         def depth(n: int) -> int:
             return 0 if n == 0 else 1 + «depth(n - 1)»


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             s.count = depth(2)
         """, "calls itself", "inlined"),
    more(7, "a helper that assigns",
         """
         def fence(s: Cluster, broker: Broker) -> None:
             «s.registrations[broker].fenced = True»


         @action(who="controller", source="-")
         def step(s: Cluster, broker: Broker) -> None:
             '''A step.'''
             fence(s, broker)
         """, "assigns to the state", "pure"),
    more(7, "a helper that guards",
         """
         def guard(s: Cluster) -> bool:
             «require(s.count > 0)»
             return True


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             s.mode = Mode.ACTIVE if guard(s) else Mode.FENCED
         """, "guard outside an action"),
    more(7, "a helper with a parameter too few",
         """
         def both(a: bool, b: bool) -> bool:
             return a and b


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             require(«both(s.count > 0)»)
             s.count = 0
         """, "both takes a, b"),
    more(7, "a helper that returns another type",
         "def leader_of(s: Cluster) -> Mode:\n    return «s.leader»" + CALLED, "where a mode is needed"),
    more(7, "a helper that is given another type",
         "def leader_of(«s: Broker») -> Broker:\n    return s" + CALLED, "a cluster where a broker is needed"),
    more(7, "a helper of a number that returns none",
         "def leader_of(s: Cluster) -> int:\n    return «s.leader»" + CALLED, "where an integer is needed"),
    more(7, "a helper of an empty range",
         "def leader_of(s: Cluster, «by: Annotated[int, Range(3, 0)]» = 1) -> Option[Broker]:\n    return s.leader"
         + CALLED, "3..0 is empty"),
    more(7, "a guard after a helper that may be cut",
         """
         def longer(log: Log, broker: Broker) -> Log:
             return log + (broker,)


         @action(who="controller", source="-")
         def step(s: Cluster, broker: Broker) -> None:
             '''A step.'''
             log = longer(s.log, broker)
             «require(s.leader == broker)»
             s.log = log
         """, "a guard after line", "before it"),
    body(7, "a while loop", "«while s.count < 3:»\n    s.count += 1", "while", "finite domain"),
    body(7, "break", "for b in Broker:\n    «break»\ns.count = 1", "break", "any("),
    body(7, "continue", "for b in Broker:\n    «continue»\ns.count = 1", "continue", "if"),
    body(7, "else after a loop",
         "for b in Broker:\n    s.registrations[b].fenced = True\nelse:\n    «s.count = 1»", "else"),
    body(7, "a list", "s.isr = set(«[b for b in Broker]»)", "a list", "set comprehension"),
    body(7, "a lambda", "s.count = max(Broker, key=«lambda b: 1»)", "lambda", "helper"),
    body(7, "a function inside", "«def inner() -> bool:»\n    return True\nrequire(inner())\ns.count = 1",
         "function inside a function", "top of the module"),
    body(7, "a loop over ordinals", "for epoch in «BrokerEpoch»:\n    s.epoch = epoch", "no finite list of values"),
    body(7, "a loop over a number", "for i in «s.count»:\n    s.level = i", "looped over"),
    body(7, "a loop whose last round decides", "for b in s.isr:\n    «s.leader = b»", "order", "permutation"),
    body(7, "a loop whose first round decides", "for b in s.isr:\n    if s.leader is None:\n        «s.leader = b»",
         "order", "permutation"),
    body(7, "a loop over a type whose order decides", "for b in Broker:\n    «s.log = s.log + (b,)»", "order",
         "permutation"),
    body(7, "a loop that reads what other rounds write",
         """
         for b in Broker:
             s.registrations[b].fenced = «s.registrations[broker].fenced»
         """, "order"),
    body(7, "a loop that gathers up and down",
         "n = 0\nfor b in s.isr:\n    n += 1\n    «n -= 1»\ns.level = n", "in two ways"),
    body(7, "a loop that counts in a place of the state", "for b in s.isr:\n    «s.level += 1»", "order", "local name"),
    body(7, "a loop that reads its own count",
         "n = 0\nfor b in s.isr:\n    n += 1\n    s.registrations[b].fenced = «n» > 1",
         "order"),
    body(7, "a loop that reads a record that it writes",
         """
         first = s.registrations[Broker(0)]
         for b in s.isr:
             s.registrations[b].fenced = not «first.fenced»
         """, "order"),
    body(7, "a loop with fresh ordinals",
         "for b in s.isr:\n    s.registrations[b].epoch = «fresh(s, BrokerEpoch)»", "order"),
    body(7, "a sequence made from a set", "s.log = tuple(b for b in «s.isr»)", "order", "sequence or a type"),
    body(7, "a sequence made from sets", "s.log = tuple(b for c in s.log for b in «s.isr»)", "order"),
    body(7, "a fold over members of a set", "s.level = fold(latest, (0 for b in «s.isr»), 0)", "over what has no order",
         "sequence or a type"),
    body(7, "a fold over the values of a map", "s.level = fold(latest, (1 for r in «s.sessions.values()»), 0)",
         "no order"),
    body(7, "a fold with a built-in function", "s.level = fold(«max», s.log, 0)", "a helper of two parameters", "def "),
    body(7, "a fold with an action", "s.level = fold(«tick», s.log, 0)", "a helper of two parameters", "def "),
    body(7, "a loop that leaves at the first", "for b in s.isr:\n    if s.registrations[b].fenced:\n        «return»\n"
         "s.count = 1", "order"),
    body(7, "a pattern inside a pattern",
         """
         match s.request:
             case Register(broker=«Broker()»):
                 s.count = 1
         """, "pattern", "case"),
    body(7, "a sequence pattern",
         """
         match s.log:
             case «[first, *rest]»:
                 s.leader = first
         """, "cannot stand in a spec", ""),
    body(7, "a variant that the union has not",
         """
         match s.request:
             case «Registration()»:
                 s.count = 1
         """, "no variant registration"),
    body(7, "a field that not every variant has", "require(s.request is not None)\ns.epoch = «s.request.epohc»",
         "no variant", ""),
]  # fmt: skip

ANYTHING_ELSE = [
    body(8, "try", "«try:»\n    s.count = 1\nexcept ValueError:\n    s.count = 0", "try", "require"),
    body(8, "raise", "«raise ValueError»", "raise", "require"),
    body(8, "with", "«with s.isr:»\n    s.count = 1", "with"),
    body(8, "global", "«global Level»\ns.count = 1", "global", "state"),
    body(8, "del", "«del s.leader»", "del", "none"),
    body(8, "an assignment inside an expression", "s.count = («n := 1»)", "assignment inside", "line of its own"),
    body(8, "a formatted text", "require(«f'{broker}'» == 'broker0')\ns.count = 1", "string", "enum"),
    body(8, "a fraction", "s.count = «s.level / 2»", "a fraction", "// divides"),
    body(8, "a power", "s.level = «s.level ** 2»", "cannot stand in a spec"),
    body(8, "a sum of truth values", "s.count = («s.level > 0») + 1", "integer is needed"),
    body(8, "an order of truth values", "require(«(s.count > 0) < (s.level > 0)»)\ns.count = 1", "no order"),
    body(8, "two assignments at once", "«s.count», s.level = s.level, s.count", "given a value", "line"),
    body(8, "a function of Python", "s.count = «abs(s.level)»", "not known to specs", "helpers"),
    body(8, "a method of Python", "s.count = «s.log.count(broker)»", "no method count"),
    body(8, "a set of what may be absent", "s.isr = s.isr | {«s.leader»}", "may be absent", "require_some"),
    body(8, "an import", "«import math»\ns.count = 1", "import", "top of the module"),
    body(8, "printing", "«print(s.count)»", "not known to specs", "helpers"),
    body(8, "sorting", "s.log = tuple(«sorted(s.isr)»)", "not known to specs"),
    body(8, "an option as a condition", "require(«s.leader»)\ns.count = 1", "neither true nor false", "is not none"),
    body(8, "a number as a condition", "require(not «s.count»)\ns.count = 1", "neither true nor false", "!= 0"),
    body(8, "`or` for a value", "s.leader = «s.leader» or broker", "neither true nor false", "is not none"),
    body(8, "types that are never equal", "require(«s.leader == s.mode»)\ns.count = 1", "never be equal", "same type"),
    body(8, "an order of an enum", "require(«s.mode < Mode.ACTIVE»)\ns.count = 1", "mode has no order", "orderedenum"),
    body(8, "an order of identities", "require(«broker < Broker(1)»)\ns.count = 1", "no order", "identities"),
    body(8, "the number of an identity", "s.count = «broker.index»", "without order", "=="),
    body(8, "arithmetic on an identity", "s.leader = «broker» + 1", "integer is needed"),
    body(8, "a member beyond the type", "s.leader = «Broker(7)»", "beyond the 2 members", "size"),
    body(8, "`is` between values", "require(«s.mode is Mode.FENCED»)\ns.count = 1", "`is` compares with none", "=="),
    body(8, "an unknown name", "s.leader = «borker»", "borker is not defined"),
    body(8, "a name that only one path gives", "if s.count == 0:\n    chosen = broker\ns.leader = «chosen»",
         "no value on some path", "before the branches"),
    body(8, "an expression alone", "«s.count == 1»", "not used", "require"),
    body(8, "a comparison instead of an assignment", "«s.leader == broker»", "not used", "assign"),
    body(8, "unpacking into a display", "s.isr = {*s.isr, broker}".replace("*s.isr", "«*s.isr»"), "unpacking", "name"),
    body(8, "a slice with a step", "s.log = s.log[::«2»]", "step"),
    body(8, "sets with ^", "s.isr = «s.isr ^ {broker}»", "cannot stand in a spec"),
]  # fmt: skip

BAD_STEPS = [*ACTIONS, *ALIASES, *HELPERS, *ANYTHING_ELSE]
