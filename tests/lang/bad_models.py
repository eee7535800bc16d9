"""Constants, properties, models and headers that must be refused (rules 9 to 13)."""

from __future__ import annotations

from tests.lang.bad_spec import body, more

CONSTANTS = [
    body(9, "an unknown constant", "require(«Design.fencign»)\ns.count = 1", "no constant fencign", "fencing"),
    body(9, "a constant that is assigned", "«Design.brokers» = 3", "assignment"),
    more(9, "a model that sets an unknown constant",
         """
         «model = Model("bounded", "-", start, [tick], [], constants={"brokres": 3})»
         """, "brokres", "brokers"),
    more(9, "a setting that sets an unknown constant",
         """
         «model = Model("bounded", "-", start, [tick], [], settings={"draft": {"fence": False}})»
         """, "fence", "fencing"),
    more(9, "a constant of the wrong kind",
         """
         «model = Model("bounded", "-", start, [tick], [], constants={"fencing": 3})»
         """, "sets fencing to 3", "bool"),
    more(9, "two classes of constants",
         """
         @constants
         «class More:»
             racks: int = 1
         """, "one class of constants", "merge"),
    more(9, "a list of the module",
         """
         order = [1, 2]


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             require(«s.count in order»)
             s.count = 1
         """, "is not a set, sequence or bag", "tuple"),
]  # fmt: skip

PROPERTIES = [
    more(10, "an invariant that is not a condition",
         """
         @invariant(source="-")
         «def leader(s: Cluster) -> bool:»
             return s.leader
         """, "not a boolean"),
    more(10, "an invariant that gives nothing",
         """
         @invariant(source="-")
         «def leader(s: Cluster) -> bool:»
             if s.count == 0:
                 return True
         """, "return"),
    more(10, "an invariant that assigns",
         """
         @invariant(source="-")
         def leader(s: Cluster) -> bool:
             «s.count = 0»
             return True
         """, "assigns to the state", "pure"),
    more(10, "an invariant that guards",
         """
         @invariant(source="-")
         def leader(s: Cluster) -> bool:
             «require(s.leader is not None)»
             return s.leader in s.isr
         """, "guard outside an action"),
    more(10, "an invariant with a parameter",
         """
         @invariant(source="-")
         «def in_isr(s: Cluster, broker: Broker) -> bool:»
             return broker in s.isr
         """, "takes 2 states and needs 1"),
    more(10, "a transition invariant of one state",
         """
         @transition_invariant(source="-")
         «def upwards(s: Cluster) -> bool:»
             return s.count >= 0
         """, "needs 2", "before"),
    more(10, "a view that hides what is not a history",
         """
         «model = Model("hidden", "-", start, [tick], [], hide=["count"])»
         """, "is not a history field", "history"),
]  # fmt: skip

MODELS = [
    more(11, "an invariant as an action",
         """
         @invariant(source="-")
         def fine(s: Cluster) -> bool:
             return s.count < 4


         «model = Model("wrong", "-", start, [fine], [])»
         """, "fine is not an action", "@action"),
    more(11, "an action as a property",
         """
         «model = Model("wrong", "-", start, [tick], [tick])»
         """, "tick is not a property", "@invariant"),
    more(11, "a function without a mark",
         """
         def plain(s: Cluster) -> None:
             s.count = 1


         «model = Model("wrong", "-", start, [plain], [])»
         """, "plain is not an action", "@action"),
    more(11, "an action twice",
         """
         «model = Model("wrong", "-", start, [tick, tick], [])»
         """, "tick", "once"),
    more(11, "an action and a property of one name",
         """
         def named_tick(s: Cluster) -> bool:
             return True


         named_tick.__name__ = "tick"
         «model = Model("same", "-", start, [tick], [witness(named_tick)])»
         """, "tick is both its action and its witness", "another name"),
    more(11, "two models of one name",
         """
         «first = Model("twice", "-", start, [tick], [])»
         second = Model("twice", "-", start, [tick], [])
         """, "twice", "name"),
    more(11, "two kinds of states",
         """
         @state
         class Other:
             count: Count


         @action(who="clock", source="-")
         «def other(s: Other) -> None:»
             '''A step.'''
             s.count = 1
         """, "2 kinds of states", "share one"),
]  # fmt: skip

HEADERS = [
    more(12, "no source",
         """
         @action(who="clock")
         «def step(s: Cluster) -> None:»
             '''A step.'''
             s.count = 1
         """, "source"),
    more(12, "no header",
         """
         @action
         «def step(s: Cluster) -> None:»
             '''A step.'''
             s.count = 1
         """, "@action without its header", "who="),
    more(12, "an actor that is not a parameter",
         """
         @action(who="broker {brokre}", source="-")
         «def step(s: Cluster, broker: Broker) -> None:»
             '''A step.'''
             s.count = 1
         """, "brokre", "broker"),
    more(12, "an invariant without a source",
         """
         @invariant
         «def fine(s: Cluster) -> bool:»
             return True
         """, "@invariant without its header", "source="),
]  # fmt: skip

RUNS_AS_IT_STANDS = [
    body(13, "`and` for a value", "s.leader = «s.leader» and broker", "neither true nor false"),
    more(13, "a helper with a state of its own",
         """
         def counted(n: Count, seen: set[int] = set()) -> bool:
             seen.add(n)
             return len(seen) > 1


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             require(counted(s.count))
             s.count = 1
         """.replace("seen.add(n)", "«seen.add(n)»"), ""),
    more(13, "a function of another decorator",
         """
         import functools


         @functools.lru_cache
         def cached(n: Count) -> bool:
             return n > 1


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             '''A step.'''
             require(«cached(s.count)»)
             s.count = 1
         """, "cached"),
]  # fmt: skip

BAD_MODELS = [*CONSTANTS, *PROPERTIES, *MODELS, *HEADERS, *RUNS_AS_IT_STANDS]
