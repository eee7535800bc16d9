"""Sets of many members, of messages of several kinds, of sets and with a bound, and a map by messages: by hand.

- `many`: 80 numbers are taken one after the other, 21 apart (which meets each once), and given back all at once: 81
  states, one step out of each.
- `posted`: each of 2 nodes has posted nothing, an abort or one of 2 votes; `last` is one of these 6 messages or none:
  4 * 4 * 7 = 112 states. In 16 combinations of what is posted, nodes without a message are found 8 times (3 steps
  each), votes 16 times, and an abort in 7: 7 * (24 + 16 + 7) = 329 steps.
- `quorums`: families of subsets of 3 nodes of which any two meet: 40 (OEIS A051185).
- `linked`: a link goes both ways, so of the 4 pairs of 2 nodes 2 are one: 2 ** 3 = 8 states. Each of the 4 pairs is
  free in 4 of them: 16 steps.
- `claims`: at most 2 claims of 2 nodes, of an epoch each that is the newest or an older one. None: 1 state. One: 2
  nodes of either age, 4 states. Two: both of the newest epoch 1, both of one older epoch 1, of two epochs of which one
  is the newest 4, of two older ones 4. That is 15 states, with 5 * 2 claims, 15 new epochs, and 4 + 10 * 2 claims that
  end: 49 steps.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    Map,
    MemberOf,
    Model,
    Option,
    Ordinal,
    Range,
    Set,
    action,
    choose,
    fresh,
    init,
    invariant,
    message,
    require,
    state,
)

LAST = 79
Number = Annotated[int, Range(0, LAST)]


@state
class Numbers:
    taken: Set[Number]
    next: Number


@init
def nothing_taken() -> Numbers:
    return Numbers(taken=frozenset(), next=0)


@action(who="-", source="-")
def take(s: Numbers) -> None:
    """Take the next number."""
    require(s.next not in s.taken)
    s.taken |= {s.next}
    s.next = (s.next + 21) % (LAST + 1)


@action(who="-", source="-")
def give_back(s: Numbers) -> None:
    """All are taken: start again."""
    require(len(s.taken) == LAST + 1)
    s.taken = frozenset()


@invariant(source="-")
def taken_in_turn(s: Numbers) -> bool:
    """The number of members taken determines which one is next."""
    return len(s.taken) * 21 % (LAST + 1) == s.next


class Node(Identity, size=2): ...


@message
class Vote:
    by: Node
    yes: bool


@message
class Abort:
    by: Node


Message = Vote | Abort
PostedVote = Annotated[Vote, MemberOf("posted")]


@state
class Board:
    posted: Set[Message]
    last: Option[Message]


@init
def empty_board() -> Board:
    return Board(posted=frozenset(), last=None)


def is_silent(s: Board, node: Node) -> bool:
    return not any(m.by == node for m in s.posted)


@action(who="node {node}", source="-")
def vote(s: Board, node: Node, yes: bool) -> None:
    """One message a node."""
    require(is_silent(s, node))
    s.posted |= {Vote(by=node, yes=yes)}


@action(who="node {node}", source="-")
def abort(s: Board, node: Node) -> None:
    """One message a node."""
    require(is_silent(s, node))
    s.posted |= {Abort(by=node)}


@action(who="-", source="-")
def count_vote(s: Board, posted: PostedVote) -> None:
    """Votes are taken down in any order."""
    s.posted -= {posted}
    s.last = posted


@action(who="-", source="-")
def take_down_abort(s: Board) -> None:
    """Aborts are taken down in the order of the nodes."""
    require(any(isinstance(m, Abort) for m in s.posted))
    first = choose(m for m in s.posted if isinstance(m, Abort))
    s.posted -= {first}
    s.last = first


@invariant(source="-")
def one_message_each(s: Board) -> bool:
    """No node has two messages on the board."""
    return all(m == n or m.by != n.by for m in s.posted for n in s.posted)


class Voter(Identity, size=3): ...


@state
class Families:
    quorums: Set[Set[Voter]]


@init
def no_quorum() -> Families:
    return Families(quorums=frozenset())


@action(who="-", source="-")
def agree(s: Families, quorum: Set[Voter]) -> None:
    """A quorum meets all others."""
    require(len(quorum) > 0 and quorum not in s.quorums)
    require(all(len(quorum & other) > 0 for other in s.quorums))
    s.quorums |= {quorum}


@invariant(source="-")
def quorums_meet(s: Families) -> bool:
    """Any two quorums have a voter in common."""
    return all(any(v in p for v in q) for p in s.quorums for q in s.quorums)


@message
class Pair:
    a: Node
    b: Node


@state
class Links:
    linked: Map[Pair, bool]


@init
def no_links() -> Links:
    return Links(linked=Map({Pair(a=a, b=b): False for a in Node for b in Node}))


@action(who="-", source="-")
def link(s: Links, pair: Pair) -> None:
    """Both ways at once."""
    require(not s.linked[pair])
    s.linked[pair] = True
    s.linked[Pair(a=pair.b, b=pair.a)] = True


@invariant(source="-")
def links_go_both_ways(s: Links) -> bool:
    """A link is one way where it is one the other way."""
    return all(s.linked[Pair(a=p.b, b=p.a)] for p, yes in s.linked.items() if yes)


class Epoch(Ordinal): ...


@message
class Claim:
    by: Node
    epoch: Epoch


Claims = Annotated[Set[Claim], AtMost(2)]
OneClaim = Annotated[Claim, MemberOf("claims")]


@state
class Office:
    newest: Epoch
    claims: Claims


@init
def no_claims() -> Office:
    return Office(newest=Epoch(0), claims=frozenset())


@action(who="node {node}", source="-")
def claim(s: Office, node: Node) -> None:
    """A claim of the newest epoch: twice the same is one."""
    require(len(s.claims) < 2)
    s.claims |= {Claim(by=node, epoch=s.newest)}


@action(who="-", source="-")
def new_epoch(s: Office) -> None:
    """Claims grow old."""
    s.newest = fresh(s, Epoch)


@action(who="-", source="-")
def end(s: Office, ended: OneClaim) -> None:
    """Any claim may end."""
    s.claims -= {ended}


@invariant(source="-")
def no_claim_from_the_future(s: Office) -> bool:
    """Claims are of epochs that were issued."""
    return all(c.epoch <= s.newest for c in s.claims)


MODELS = [
    Model("many", "A set over 80 numbers.", nothing_taken, [take, give_back], [taken_in_turn]),
    Model("posted", "A set of messages of two kinds.", empty_board, [vote, abort, count_vote, take_down_abort],
          [one_message_each]),
    Model("quorums", "A set of sets.", no_quorum, [agree], [quorums_meet]),
    Model("linked", "A map by messages.", no_links, [link], [links_go_both_ways]),
    Model("claims", "A set with a bound.", no_claims, [claim, new_epoch, end], [no_claim_from_the_future]),
]  # fmt: skip
