"""Types, ordinals, bounds and constraints that must be refused (rules 1 to 4)."""

from __future__ import annotations

from tests.lang.bad_spec import body, field, more, parameter

TYPES = [
    field(1, "an int without bounds", "«offset: int»", "int without bounds", "nat(5)"),
    field(1, "a list", "«names: list[bool]»", "is not a finite type", "seq"),
    field(1, "a text", "«name: str»", "is not a finite type", "enum"),
    field(1, "a float", "«ratio: float»", "is not a finite type"),
    field(1, "a sequence without a maximum", "«log: Seq[Broker]»", "how long", "atmost(3)"),
    field(1, "a bag without a maximum", "«network: Bag[Request]»", "how long", "atmost(3)"),
    field(1, "a set of more than 1,024", "«pairs: Set[Pair]»", "2048 possible members, and at most 1024",
          "annotated[set[pair], atmost(4)]",
          before="@message\nclass Pair:\n    some: Set[Level]\n    others: Set[Level]\n    brokers: Set[Broker]\n"
                 "    old: bool"),
    field(1, "a set of records with ordinals", "«sent: Set[Register]»", "a set of register", "set[register]"),
    field(1, "a set of messages some with ordinals", "«sent: Set[Request]»", "a set of register | heartbeat",
          "set[register | heartbeat]"),
    field(1, "a bounded set of mutable records", "«sent: Annotated[Set[Registration], AtMost(2)]»", "values only",
          "@message"),
    field(1, "a length of a number", "«level: Annotated[int, AtMost(3)]»", "atmost bounds", "annotated[set["),
    field(1, "a bounded set in a message", "batch: Option[Batch]", "a set with a bound inside a @message", "@record",
          before="@message\nclass Batch:\n    «sent: Annotated[Set[Register], AtMost(2)]»"),
    field(1, "a set of mutable records", "«all: Set[Registration]»", "a set holds values only", "@message"),
    field(1, "a set of maps", "«all: Set[Map[Broker, bool]]»", "a set holds values only", "@message"),
    field(1, "a set of bags", "«all: Set[Network]»", "a bag inside a set", "keep it"),
    field(1, "a set of large sets", "«all: Set[Set[Number]]»", "2048 possible members", "atmost(4)",
          before="Number = Annotated[int, Range(0, 10)]"),
    field(1, "a map with keys of records with ordinals", "«by_request: Map[Register, bool]»",
          "cannot be the key of a map", "identities"),
    field(1, "a map with keys of mutable records", "«by_registration: Map[Registration, bool]»", "values only",
          "@message"),
    field(1, "a map with very many keys", "«by: Map[Set[Number], bool]»", "2048 keys, and at most 1024", "constants",
          before="Number = Annotated[int, Range(0, 10)]"),
    field(1, "a map with keys of ordinals", "«by_epoch: Map[BrokerEpoch, bool]»", "cannot be the key of a map"),
    field(1, "a union with a mutable record", "«last: Heartbeat | Registration»", "a union of", "@message"),
    field(1, "a bag of mutable records", "«sent: Annotated[Bag[Registration], AtMost(2)]»", "changed in place",
          "@message"),
    field(1, "a sequence of bags", "«sent: Annotated[Seq[Network], AtMost(2)]»", "a sequence of bags", "keep a bag"),
    field(1, "a sequence of mutable records inside a message", "batch: Option[Batch]", "changed in place", "@message",
          before="@message\nclass Batch:\n    «all: Annotated[Seq[Registration], AtMost(2)]»"),
    field(1, "an optional bag", "«network: Option[Network]»", "bag", ""),
    field(1, "a bag inside a message", "batch: Option[Batch]", "bag", "",
          before="@message\nclass Batch:\n    «network: Network»"),
    field(1, "an empty range", "«level: Annotated[int, Range(3, 0)]»", "3..0 is empty", "maximum"),
    field(1, "an unknown type", "«leader: Option[Brocker]»", "brocker", "import"),
    field(1, "an identity without members", "«rack: Rack»", "rack has no members", "at least 1",
          before="class Rack(Identity, size=0): ..."),
    more(1, "a message with a mutable record",
         """
         @message
         class Wrapped:
             «registration: Registration»


         @state
         class Odd:
             wrapped: Option[Wrapped]


         @init
         def odd() -> Odd:
             return Odd(wrapped=None)


         @action(who="controller", source="-")
         def step(s: Odd) -> None:
             '''A step.'''
             s.wrapped = None


         model = Model("odd", "-", odd, [step], [])
         """, "changed in place", "@message"),
    body(1, "a store of the wrong type", "s.leader = «s.count»", "where a broker is needed"),
    body(1, "a message without a field", "s.request = «Register(broker=broker)»", "epoch"),
    body(1, "a message with too many fields", "s.request = «Heartbeat(broker=broker, epoch=s.epoch)»", "epoch"),
    body(1, "a message's field of the wrong type",
         "s.request = Heartbeat(broker=«s.mode»)", "where a broker is needed"),
    body(1, "an unknown field", "require(«s.leeder» is None)\ns.leader = None", "no field leeder", "leader"),
    body(1, "a map without some of its keys",
         "s.sessions = Map(«{b: None for b in Broker if b != broker}»)", "1 of 2 keys", "total"),
]  # fmt: skip

ORDINALS = [
    body(2, "arithmetic", "s.epoch = «s.epoch» + 1", "arithmetic on brokerepoch", "fresh"),
    body(2, "a number as an ordinal", "s.epoch = «BrokerEpoch(3)»", "of a given value", "fresh(s, brokerepoch)"),
    body(2, "two sorts", "require(«s.epoch < s.leader_epoch»)\ns.count = 1", "brokerepoch", "one sort"),
    body(2, "equality of two sorts", "require(«s.epoch == s.leader_epoch»)\ns.count = 1", "never be equal"),
    body(2, "comparison with a number", "require(«s.epoch > 0»)\ns.count = 1", "no order"),
    body(2, "a store of another sort", "s.epoch = «s.leader_epoch»", "where a brokerepoch is needed"),
    body(2, "the number inside", "s.count = «s.epoch.value»", "no field value"),
    body(2, "fresh without the state", "s.epoch = fresh(«s.epoch», BrokerEpoch)", "takes the state"),
    body(2, "fresh of no ordinal", "s.epoch = fresh(s, «Broker»)", "sort of ordinals"),
    body(2, "a negative ordinal", "s.epoch = -«s.epoch»", "arithmetic on brokerepoch", "fresh"),
    body(2, "a sum", "s.count = sum«(s.registrations[b].epoch for b in Broker)»", "arithmetic on brokerepoch"),
    more(2, "fresh in a property",
         """
         @invariant(source="-")
         def newest(s: Cluster) -> bool:
             return s.epoch < «fresh(s, BrokerEpoch)»
         """, "outside an action", "actions"),
    more(2, "fresh of a sort that is fixed",
         """
         class Term(Ordinal, fixed=lambda: True): ...


         @action(who="controller", source="-")
         def step(s: Cluster) -> None:
             'A step.'
             require(«fresh(s, Term)» == fresh(s, Term))
         """, "a fresh term in a model where these are fixed", "leave the action out"),
    parameter(2, "a parameter that is an ordinal", "«epoch: BrokerEpoch»", "no finite list of values", "members"),
]  # fmt: skip

BOUNDS = [
    body(3, "a guard after a store that may be cut", "s.count += 1\n«require(s.level > 0)»", "guard after", "before"),
    body(3, "a guard after a bag that may be full", "s.network = s.network.add(Heartbeat(broker=broker))\n"
         "«require(s.level > 0)»", "guard after", "before"),
    field(3, "a maximum below zero", "«count: Annotated[int, Nat(-1)]»", "0..-1 is empty", "maximum"),
    field(3, "a length below zero", "«log: Annotated[Seq[Broker], AtMost(-1)]»", "at most -1", "0 or more"),
    body(3, "bags compared", "require(«s.network == s.network»)\ns.count = 1", "bags", "count"),
]  # fmt: skip

CONSTRAINTS = [
    more(4, "a constraint with a parameter",
         """
         @constraint
         «def small(s: Cluster, broker: Broker) -> bool:»
             return s.count < 2
         """, "takes 2 states and needs 1"),
    more(4, "a constraint that is not a condition",
         """
         @constraint
         «def small(s: Cluster) -> bool:»
             return s.count
         """, "returns an integer, not a boolean"),
    more(4, "an invariant as a constraint",
         """
         @invariant(source="-")
         def small(s: Cluster) -> bool:
             return s.count < 2


         «model = Model("bounded", "-", start, [tick], [], constraints=[small])»
         """, "small is not a constraint", "@constraint"),
]  # fmt: skip

BAD_TYPES = [*TYPES, *ORDINALS, *BOUNDS, *CONSTRAINTS]
