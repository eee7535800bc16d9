"""Fairness is of each binding of an action's parameters, not of the action.

`jobs`: a job is due again as soon as it is done, and one worker does them all. If only the action `work` were fair, the
worker could do job 0 infinitely often: that is fair to the action. Fair to each binding, every job that is due
is done. In `favourite` only the binding of job 0 is fair, by an action of its own: job 1 starves.

`letters`: a box for each sender holds a letter or none. `carry` takes the letter of a box, by value; it is fair for
each box, even where two boxes hold equal letters. `deliver` takes a member of a set: it is fair for each member.

`mail`: a bag of cards, of which `take` takes one. It is fair to some card, so that the bag is emptied if nobody posts
(`emptied`); where others post infinitely often, a card may lie there forever. `take_of` takes one of a given
sender, and is fair to each sender (`mail_by_sender`).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Bag,
    Identity,
    Map,
    MemberOf,
    Model,
    Option,
    Set,
    action,
    init,
    leads_to,
    message,
    replace,
    require,
    require_some,
    state,
)

SOURCE = "tests"


class Job(Identity, size=2):
    pass


@state
class Office:
    due: Map[Job, bool]


@init
def all_due() -> Office:
    return Office(due=Map({job: True for job in Job}))


@action(who="worker", source=SOURCE, fair="weak")
def work(s: Office, job: Job) -> None:
    """Does a job that is due."""
    require(s.due[job])
    s.due[job] = False


@action(who="worker", source=SOURCE, fair="weak")
def work_on_the_first(s: Office) -> None:
    """Does job 0 when it is due."""
    require(s.due[Job(0)])
    s.due[Job(0)] = False


@action(who="customer", source=SOURCE)
def bring(s: Office, job: Job) -> None:
    """A job is due again."""
    require(not s.due[job])
    s.due[job] = True


@leads_to(source=SOURCE)
def due_is_done(s: Office, job: Job) -> tuple[bool, bool]:
    """A job that is due is done."""
    return s.due[job], not s.due[job]


@message
class Letter:
    urgent: bool


LetterInBox = Annotated[Option[Letter], MemberOf("box")]
Parcel = Annotated[Job, MemberOf("parcels")]


@state
class Post:
    box: Map[Job, Option[Letter]]
    carried: Map[Job, bool]
    parcels: Set[Job]


@init
def two_letters() -> Post:
    letter = Letter(urgent=True)
    return Post(
        box=Map({job: letter for job in Job}),
        carried=Map({job: False for job in Job}),
        parcels=frozenset({Job(0), Job(1)}),
    )


@action(who="carrier", source=SOURCE, fair="weak")
def carry(s: Post, letter: LetterInBox) -> None:
    """Carries all letters like this one."""
    known = require_some(letter)
    require(known.urgent)
    for job in Job:
        if s.box[job] == letter:
            s.box[job] = None
            s.carried[job] = True


@action(who="carrier", source=SOURCE, fair="weak")
def deliver(s: Post, parcel: Parcel) -> None:
    """Delivers a parcel."""
    s.parcels = s.parcels - {parcel}


@action(who="customer", source=SOURCE)
def send_again(s: Post, job: Job) -> None:
    """Sends a parcel again."""
    require(job not in s.parcels)
    s.parcels = s.parcels | {job}


@leads_to(source=SOURCE)
def letters_are_carried(s: Post, job: Job) -> tuple[bool, bool]:
    """A letter in a box is carried."""
    return s.box[job] is not None, s.carried[job]


@leads_to(source=SOURCE)
def parcels_are_delivered(s: Post, job: Job) -> tuple[bool, bool]:
    """A parcel is delivered."""
    return job in s.parcels, job not in s.parcels


@message
class Card:
    sender: Job


CardInMail = Annotated[Card, MemberOf("mail")]
Mail = Annotated[Bag[Card], AtMost(2)]


@state
class Counter:
    mail: Mail


@init
def a_card_each() -> Counter:
    return Counter(mail=Bag([Card(job) for job in Job]))


@action(who="clerk", source=SOURCE, fair="weak")
def take(s: Counter, card: CardInMail) -> None:
    """Takes a card."""
    s.mail = s.mail.remove(card)


@action(who="clerk", source=SOURCE, fair="weak")
def take_of(s: Counter, sender: Job, card: CardInMail) -> None:
    """Takes a card of a sender."""
    require(card.sender == sender)
    s.mail = s.mail.remove(card)


@action(who="customer", source=SOURCE)
def post(s: Counter, sender: Job) -> None:
    """Posts a card."""
    require(Card(sender) not in s.mail)
    s.mail = s.mail.add(Card(sender))


@leads_to(source=SOURCE)
def cards_are_taken(s: Counter, sender: Job) -> tuple[bool, bool]:
    """A card is taken."""
    return Card(sender) in s.mail, Card(sender) not in s.mail


MODELS = [
    Model("jobs", "A worker who is fair to every job.", all_due, [work, bring], [due_is_done]),
    Model("favourite", "A worker who is fair to job 0 only.", all_due,
          [replace(work, fair=""), work_on_the_first, bring], [due_is_done]),
    Model("letters", "Members of a map and of a set.", two_letters, [carry, deliver, send_again],
          [letters_are_carried, parcels_are_delivered]),
    Model("emptied", "A bag that nobody adds to.", a_card_each, [take], [cards_are_taken]),
    Model("mail", "A bag that some add to infinitely often.", a_card_each, [take, post], [cards_are_taken]),
    Model("mail_by_sender", "A bag whose clerk is fair to senders.", a_card_each, [take_of, post], [cards_are_taken]),
]  # fmt: skip
