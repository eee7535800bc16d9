"""Bags, sequences, sets and permutations, whose states are counted by hand.

With capacity = n:

- `bag`: letters A and B go into a bag of n and come out. That is a multiset of at most n letters out of 2:
  (n+1)(n+2)/2, 10 for n = 3, in whatever order they came. The 6 that are not full take either letter: 12; the
  other 4 cut both: 8 cuts. Each different letter can come out: 2 from size 1, 1+1+2 from size 2, 1+1+2+2
  from size 3: 12. Together 25 generated, depth n+1.
- `stamped_bag`: messages with a fresh epoch each, and the newest epoch is remembered. A state is how many
  messages are there (k), and whether the newest is: k = 0: out, 0 < k < n: in or out, k = n: in (out would
  need n+1 before): 2n states, 6 for n = 3. One send from each but the full one, which is cut: 5; and k
  deliveries: 0+1+1+2+2+3 = 9: 15 generated, 1 cut. (n-1, out) takes n sends and a delivery: depth n+2.
- `words`: letters are appended to a sequence of n, and the last one is taken away. 2^(n+1) - 1 words: 15 for
  n = 3, of which 7 take two letters, 8 are full (16 cuts) and 14 can be shortened: 1 + 14 + 14 = 29
  generated, depth n+1.
- `first_served`: letters are appended as above, and any letter in the word is served: it goes from all its
  places. A letter is served once, however often it is there: 2n = 6 words have one kind of letter, and 8 have
  both: 1 + 14 + 6 + 2*8 = 37 generated.
- `orders`: three processes line up once, in any order: 1 + 3! = 7 states, 7 generated, depth 2.
- `some_line_up`: some of them do, or none: 1 + 3 + 6 + 6 = 16 states, one step to each from the first: 17
  generated, depth 2.
- `line_shrinks`: and who stands first leaves. Lines of 3, 2, 1, 0: 6 + 6 + 3 + 1 = 16 states. Each line
  that is not empty gives one step, the empty one 6: 1 + 15 + 6 = 22 generated, depth 4.
- `first_in_order`: of those alive, the first in any order is elected, once; processes die for good. 8 sets of
  the living with nobody elected, and any of the 8 with each of 3 elected, who may have died since: 32
  states. A death for each of the living: 4 * 12 = 48; 6 orders from each of 7 sets: 42: 91 generated. Three
  deaths and an election: depth 5.
- `granted`: a set over 6 possible grants; each can be added, and each that is there revoked: 2^6 = 64 states,
  1 + 64*6 + 64*3 = 577 generated, depth 7. `revoked`: all grants of one of 3 processes are revoked: as many.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Arrangement,
    AtMost,
    Bag,
    Identity,
    MemberOf,
    Model,
    Option,
    Ordinal,
    Permutation,
    Seq,
    Set,
    action,
    constants,
    fresh,
    init,
    invariant,
    message,
    require,
    state,
    transition_invariant,
    witness,
)


@constants
class Sizes:
    capacity: int = 3
    "How much fits into a bag or a sequence."


class Letter(enum.Enum):
    A = enum.auto()
    B = enum.auto()


# A bag.

Letters = Annotated[Bag[Letter], AtMost(lambda: Sizes.capacity)]
InBag = Annotated[Letter, MemberOf("letters")]


@state
class Bagful:
    letters: Letters


@init
def empty_bag() -> Bagful:
    return Bagful(letters=Bag())


@action(who="-", source="-")
def put(s: Bagful, letter: Letter) -> None:
    """A letter goes in; cut when the bag is full."""
    s.letters = s.letters.add(letter)


@action(who="-", source="-")
def take(s: Bagful, letter: InBag) -> None:
    """A letter comes out."""
    s.letters = s.letters.remove(letter)


@transition_invariant(source="-")
def one_letter_at_a_time(before: Bagful, after: Bagful) -> bool:
    """The bag never loses or gains two letters, nor changes one into another."""
    a = after.letters.count(Letter.A) - before.letters.count(Letter.A)
    b = after.letters.count(Letter.B) - before.letters.count(Letter.B)
    return -1 <= a + b <= 1 and (a == 0 or b == 0)


@witness
def full_of_a(s: Bagful) -> bool:
    """The bag is full, and of one letter."""
    return len(s.letters) == Sizes.capacity and Letter.B not in s.letters


# A bag of messages with epochs.


class Epoch(Ordinal):
    """One for each message."""


@message
class Stamped:
    epoch: Epoch


Network = Annotated[Bag[Stamped], AtMost(lambda: Sizes.capacity)]
Sent = Annotated[Stamped, MemberOf("network")]


@state
class Sender:
    newest: Epoch
    network: Network


@init
def nothing_sent() -> Sender:
    return Sender(newest=Epoch(0), network=Bag())


@action(who="sender", source="-")
def send(s: Sender) -> None:
    """A message with a fresh epoch is sent; cut when the network is full."""
    s.newest = fresh(s, Epoch)
    s.network = s.network.add(Stamped(epoch=s.newest))


@action(who="network", source="-")
def deliver(s: Sender, sent: Sent) -> None:
    """Any message arrives."""
    s.network = s.network.remove(sent)


@invariant(source="-")
def no_two_alike(s: Sender) -> bool:
    """Every message in the network has its own epoch, none of them newer than the newest."""
    return all(s.network.count(m) == 1 and m.epoch <= s.newest for m in s.network)


@witness
def newest_arrived_first(s: Sender) -> bool:
    """Messages overtake each other."""
    return len(s.network) > 0 and all(m.epoch < s.newest for m in s.network)


# A sequence.

Word = Annotated[Seq[Letter], AtMost(lambda: Sizes.capacity)]
InWord = Annotated[Letter, MemberOf("word")]


@state
class Tape:
    word: Word


@init
def empty_word() -> Tape:
    return Tape(word=())


@action(who="-", source="-")
def append(s: Tape, letter: Letter) -> None:
    """The word grows at its end; cut when it is full."""
    s.word = s.word + (letter,)


@action(who="-", source="-")
def shorten(s: Tape) -> None:
    """The word loses its last letter."""
    require(len(s.word) > 0)
    s.word = s.word[: len(s.word) - 1]


@action(who="-", source="-")
def serve(s: Tape, letter: InWord) -> None:
    """One letter goes, wherever it stands; the others close ranks."""
    rest: Word = ()
    for other in s.word:
        if other != letter:
            rest = rest + (other,)
    s.word = rest


@witness
def reads_aba(s: Tape) -> bool:
    """Letters keep their order."""
    return len(s.word) == 3 and s.word[0] == Letter.A and s.word[1] == Letter.B and s.word[2] == Letter.A


# Orders.


class Process(Identity, size=3): ...


Line = Annotated[Seq[Process], AtMost(3)]
Order = Annotated[Seq[Process], Permutation]
SomeOrder = Annotated[Seq[Process], Arrangement]


@state
class Queue:
    line: Line


@init
def nobody_waits() -> Queue:
    return Queue(line=())


@action(who="-", source="-")
def line_up(s: Queue, order: Order) -> None:
    """All processes line up, in some order."""
    require(len(s.line) == 0)
    line: Line = ()
    for process in order:
        line = line + (process,)
    s.line = line


@action(who="-", source="-")
def some_line_up(s: Queue, some: SomeOrder) -> None:
    """Some processes line up, in some order."""
    require(len(s.line) == 0)
    s.line = some


@action(who="-", source="-")
def head_leaves(s: Queue) -> None:
    """The first in the line leaves it."""
    require(len(s.line) > 0)
    s.line = s.line[1:]


@invariant(source="-")
def stands_once(s: Queue) -> bool:
    """Nobody stands in two places."""
    return all(sum(1 if q == p else 0 for q in s.line) <= 1 for p in Process)


@state
class Election:
    alive: Set[Process]
    elected: Option[Process]


@init
def all_alive() -> Election:
    return Election(alive=set(Process), elected=None)


@action(who="process {process}", source="-")
def die(s: Election, process: Process) -> None:
    """A process ends."""
    require(process in s.alive)
    s.alive -= {process}


@action(who="-", source="-")
def elect_first(s: Election, order: Order) -> None:
    """The first in some order who is alive is elected."""
    require(s.elected is None and len(s.alive) > 0)
    chosen: Option[Process] = None
    for process in order:
        if chosen is None and process in s.alive:
            chosen = process
    s.elected = chosen


@transition_invariant(source="-")
def the_dead_are_not_elected(before: Election, after: Election) -> bool:
    """Whoever is elected was alive."""
    return before.elected is not None or after.elected is None or after.elected in before.alive


@witness
def elected_died(s: Election) -> bool:
    """The elected one is dead, and others are alive."""
    return s.elected is not None and s.elected not in s.alive and len(s.alive) > 0


# A set of records.


@message
class Grant:
    process: Process
    write: bool


Granted = Annotated[Grant, MemberOf("grants")]


@state
class Access:
    grants: Set[Grant]


@init
def no_access() -> Access:
    return Access(grants=frozenset())


@action(who="-", source="-")
def grant(s: Access, process: Process, write: bool) -> None:
    """A process may read or write."""
    s.grants = s.grants | {Grant(process=process, write=write)}


@action(who="-", source="-")
def revoke(s: Access, granted: Granted) -> None:
    """One grant ends."""
    s.grants = s.grants - {granted}


@action(who="-", source="-")
def revoke_all(s: Access, process: Process) -> None:
    """All grants of a process end."""
    s.grants = {g for g in s.grants if g.process != process}


@witness
def all_may_write_nobody_reads(s: Access) -> bool:
    """Each grant stands for itself."""
    return {g.process for g in s.grants if g.write} == set(Process) and all(g.write for g in s.grants)


MODELS = [
    Model("bag", "A bag of letters.", empty_bag, [put, take], [one_letter_at_a_time, full_of_a]),
    Model("stamped_bag", "Messages with epochs.", nothing_sent, [send, deliver],
          [no_two_alike, newest_arrived_first]),
    Model("words", "A sequence as a stack.", empty_word, [append, shorten], [reads_aba]),
    Model("first_served", "A sequence and its members.", empty_word, [append, serve], [reads_aba]),
    Model("orders", "All orders of a type.", nobody_waits, [line_up], [stands_once]),
    Model("some_line_up", "All orders of some of a type.", nobody_waits, [some_line_up], [stands_once]),
    Model("line_shrinks", "A queue.", nobody_waits, [line_up, head_leaves], [stands_once]),
    Model("first_in_order", "The order decides.", all_alive, [die, elect_first],
          [the_dead_are_not_elected, elected_died]),
    Model("granted", "A set of records.", no_access, [grant, revoke], [all_may_write_nobody_reads]),
    Model("revoked", "A set comprehension.", no_access, [grant, revoke_all], [all_may_write_nobody_reads]),
]  # fmt: skip
