"""Bounds, sizes, initial states and lists of models that cannot be (rules 1, 2, 5, 11 and 12)."""

from __future__ import annotations

from tests.lang.bad_spec import BadSpec, body, field, more

BROKEN = "Range(0, lambda: [][Design.brokers])"
BOUNDS = [
    field(1, "a maximum that cannot be computed", f"«level: Annotated[int, {BROKEN}]»",
          "odd.level: the maximum cannot be computed: indexerror: list index", "function of the constants"),
    field(1, "a maximum that is a text", "«level: Annotated[int, Nat('3')]»", "the maximum is '3', which is not a"),
    field(1, "a maximum that is absent", "«level: Annotated[int, Range(0, None)]»", "the maximum is none"),
    field(1, "a minimum that is a fraction", "«level: Annotated[int, Range(0.5, 3)]»", "the minimum is 0.5"),
    field(1, "a maximum that is not a number", "«level: Annotated[int, Range(0, float('nan'))]»", "the maximum is nan"),
    field(1, "a maximum that is a truth value", "«level: Annotated[int, Nat(True)]»", "the maximum is true"),
    field(1, "a length that is a fraction", "«log: Annotated[Seq[Broker], AtMost(1.5)]»", "the length is 1.5"),
    field(1, "a size that is a fraction", "«rack: Rack»", "the size of rack is 2.5",
          before="class Rack(Identity, size=2.5): ..."),
    field(1, "a maximum of 2^63", "«level: Annotated[int, Nat(1 << 63)]»", "9223372036854775808 takes more than 64"),
    field(1, "a minimum below -2^63", "«level: Annotated[int, Range(-(1 << 63) - 1, 0)]»", "takes more than 64 bits"),
    field(1, "a range of 2^63 numbers", "«level: Annotated[int, Range(-1, (1 << 63) - 1)]»", "64 bits distinguish"),
    field(1, "a maximum of a thousand digits", "«level: Annotated[int, Nat(10**1000)]»", "… (1,001 characters) takes"),
    field(1, "a map with too many keys", "«at: Map[Rack, bool]»", "a map with 100000 keys is made from 100000 scalars",
          "small model", before="class Rack(Identity, size=100_000): ..."),
    field(1, "a sequence that is too long", "«log: Annotated[Seq[Broker], AtMost(10**7)]»", "a sequence of 10000000"),
    field(1, "a tuple of two", "«pair: tuple[Broker, Broker]»", "a type for each place", "@message"),
    field(1, "a tuple of two with a length", "«pair: Annotated[tuple[Broker, bool], AtMost(2)]»", "a type for each"),
    field(1, "an enum with one value twice", "«color: Color»", "color.green is color.red", "a value of its own",
          before="class Color(enum.Enum):\n    RED = 1\n    GREEN = 1"),
    field(1, "an enum whose members combine", "«color: Color»", "the flag color combine", "a set",
          before="class Color(enum.Flag):\n    RED = 1\n    GREEN = 2"),
    field(1, "an enum without members", "«color: Color»", "color has no members",
          before="class Color(enum.Enum):\n    pass"),
    field(1, "a record that contains itself", "node: Node", "a node inside a node has no end", "by an identity",
          before="@record\nclass Node:\n    «next: Option[Node]»"),
    field(1, "a message that contains itself by way of another", "a: Option[A]", "b.a: a a inside a a has no end",
          before="@message\nclass A:\n    b: Option[B]\n\n@message\nclass B:\n    «a: Option[A]»"),
    more(1, "a record that inherits from another class", "@record\n«class Odd(dict):»\n    level: Level",
         "odd inherits from dict, which is not a record"),
    more(1, "a field with a name of Python's", "@record\nclass Odd:\n    «__dict__: bool»",
         "odd.__dict__: names that begin with _", "call it dict"),
]  # fmt: skip


def start(name: str, statements: str, reason: str, hint: str = "", *, mark: str = "odd: Broker") -> BadSpec:
    """A bad body of @init, for a state with one field."""
    kind = mark.partition(": ")[2]
    source = f"""
EARLY = Heartbeat(broker=Broker(7))


@state
class Odd:
    odd: {kind}


@action(who="controller", source="-")
def step(s: Odd) -> None:
    '''A step.'''
    s.odd = s.odd


@init
def odd() -> Odd:
    {statements}


model = Model("odd", "-", odd, [step], [])
"""
    return more(5, name, source, reason, hint)


STARTS = [
    start("an identity one beyond the last", "«return Odd(odd=Broker(2))»", "broker2 is beyond the 2 members"),
    start("an identity far beyond", "«return Odd(odd=Broker(5))»", "broker5 is beyond the 2 members of broker"),
    start("an identity before the first", "«return Odd(odd=Broker(-1))»", "broker-1 is beyond the 2 members"),
    start("an identity without a number", "«return Odd(odd=Broker('a'))»", "members are numbered"),
    start("an optional identity beyond the last", "«return Odd(odd=Broker(2))»", "broker2 is beyond",
          mark="odd: Option[Broker]"),
    start("a set with an identity beyond the last", "«return Odd(odd=frozenset({Broker(2)}))»", "broker2 is beyond",
          mark="odd: Set[Broker]"),
    start("a message made at the top of the module", "«return Odd(odd=EARLY)»", "broker7 is beyond",
          mark="odd: Heartbeat"),
    start("an ordinal below 0", "«return Odd(odd=BrokerEpoch(-1))»", "-1 is not a value of", mark="odd: BrokerEpoch"),
    start("a field too few", "«return Odd()»", "@init breaks down: typeerror: odd.__init__() missing"),
    start("a division by 0", "«return Odd(odd=1 // 0)»", "@init breaks down: zerodivisionerror"),
    start("a member that is not there", "«return Odd(odd=Broker.first)»", "@init breaks down: attributeerror"),
    start("a value of a million characters", "«return Odd(odd='x' * 1_000_000)»", "… (1,000,002 characters) is no"),
]  # fmt: skip

LARGE = [
    body(8, "a product beyond 64 bits", "s.level = «(s.level + 4294967296) * (s.level + 4294967296)» - s.level",
         "may be 18446744073709551616 to 18446744099479355401, which takes", "narrow the ranges"),
    body(8, "a condition on a product beyond 64 bits", f"require(«(s.level + {2**62}) * 4» > 0)\ns.level = 1",
         "may be 18446744073709551616 to "),
    body(8, "a sum beyond 64 bits", f"require(«sum(s.level + {2**62} for b in Broker)» > 0)\ns.level = 1",
         "may be 9223372036854775808 to 9223372036854775814"),
    body(8, "a difference beyond 64 bits", f"require(«-{2**62} - s.level - {2**62}» < 0)\ns.level = 1",
         "may be -9223372036854775811 to -9223372036854775808"),
    body(8, "an augmented assignment beyond 64 bits", f"«s.level += {2**63}»\ns.level = 1",
         "may be 9223372036854775808 to 9223372036854775811"),
    body(8, "a number beyond 64 bits in a sum that is not", f"require(«s.level + {2**64}» - {2**64} > 0)\ns.level = 1",
         "which takes more than 64 bits"),
]  # fmt: skip

LISTED = [
    more(11, "MODELS that is a number", "«MODELS = 5»", "models is 5, and no list", "models = [model("),
    more(11, "MODELS without a model", "«MODELS: list[Model] = []»", "models is [], and no list"),
    more(11, "MODELS with something else", "«MODELS = [tick]»", "models lists declared(", "models = [model("),
    body(8, "numbered elements", "require(all(i < 3 for i, b in «enumerate(s.log)»))\ns.count = 1",
         "enumerate is not known to specs", "range(len(log))"),
    body(8, "a truth value as a number", "s.count = «int(s.level > 1)»", "int is not known to specs", "if condition"),
    body(8, "a dictionary", "d = «{}»\ns.count = 1", "this cannot stand here", "map({b: ... for b in broker})"),
    more(12, "an action that is async",
         """
         «@action(who="clock", source="-")»
         async def step(s: Cluster) -> None:
             '''A step.'''
         """, "step is async", "a step happens at once"),
]  # fmt: skip

BAD_VALUES = [*BOUNDS, *STARTS, *LARGE, *LISTED]
