"""Readers borrow two books, one of which is for reading there only: small, with mutants of every fate.

Every operator has something to change here. What is to become of some mutants is in `test_verdicts.py`; the plain
Python oracle has the last word on all of them.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Identity,
    Map,
    Model,
    Option,
    Range,
    Set,
    action,
    constants,
    init,
    invariant,
    message,
    replace,
    require,
    require_some,
    state,
    transition_invariant,
    witness,
)

SOURCE = "House rules"


@constants
class Rules:
    fines: bool = False
    "Who brings a book back late is banned for good."


class Book(Identity, size=2): ...


class Reader(Identity, size=2): ...


class Desk(enum.Enum):
    OPEN = enum.auto()
    CLOSED = enum.auto()


@message
class Loan:
    reader: Reader
    late: bool


@state
class Library:
    loans: Map[Book, Option[Loan]]
    banned: Set[Reader]
    notified: Set[Reader]
    desk: Desk
    lent: Annotated[int, Range(0, 2)]


def may_borrow(s: Library, reader: Reader) -> bool:
    """Whoever is not banned and has no book that is late."""
    if reader in s.banned:
        return False
    return not any(is_late(s, book, reader) for book in Book)


def is_late(s: Library, book: Book, reader: Reader) -> bool:
    loan = s.loans[book]
    return loan is not None and loan.reader == reader and loan.late


@init
def opening() -> Library:
    return Library(Map({b: None for b in Book}), frozenset(), frozenset(), Desk.OPEN, 0)


@action(who="reader {reader}", source=SOURCE)
def borrow(s: Library, reader: Reader, book: Book) -> None:
    """A reader takes a book home."""
    require(s.desk == Desk.OPEN and s.loans[book] is None)
    require(may_borrow(s, reader))
    s.loans[book] = Loan(reader, late=False)
    s.lent += 1


@action(who="nobody", source=SOURCE)
def becomes_late(s: Library, book: Book) -> None:
    """A month passes."""
    loan = require_some(s.loans[book])
    require(not loan.late)
    s.loans[book] = replace(loan, late=True)
    s.notified = s.notified | {loan.reader}


@action(who="reader", source=SOURCE)
def bring_back(s: Library, book: Book) -> None:
    """A book comes back."""
    loan = require_some(s.loans[book])
    require(s.lent > 0)
    if loan.late and Rules.fines:
        s.banned |= {loan.reader}
    s.notified = s.notified - {loan.reader} if loan.late else s.notified
    s.loans[book] = None
    s.lent -= 1


@action(who="clerk", source=SOURCE)
def turn_sign(s: Library) -> None:
    """The desk opens or closes."""
    s.desk = Desk.CLOSED if s.desk == Desk.OPEN else Desk.OPEN


@action(who="clerk", source=SOURCE)
def close(s: Library) -> None:
    """The desk closes."""
    require(s.desk == Desk.OPEN)
    s.desk = Desk.CLOSED


@invariant(source=SOURCE)
def lent_is_counted(s: Library) -> bool:
    """The clerk knows how many books are out."""
    return s.lent == len({b for b in Book if s.loans[b] is not None})


@transition_invariant(source=SOURCE)
def no_second_book_when_late(before: Library, after: Library) -> bool:
    """A reader who has an overdue book borrows no other."""
    return not any(
        before.loans[book] is None and after.loans[book] is not None and not may_borrow(before, reader)
        for book in Book
        for reader in Reader
        if after.loans[book] == Loan(reader, late=False)
    )


@witness
def both_are_out(s: Library) -> bool:
    """Both books are lent."""
    return s.lent == 2


model = Model(
    name="library",
    doc="Readers and two books.",
    init=opening,
    actions=[borrow, becomes_late, bring_back, turn_sign, close],
    properties=[lent_is_counted, no_second_book_when_late, both_are_out],
)
