"""Small models of which it is known what induction can show of them."""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Bag,
    MemberOf,
    Model,
    Nat,
    Option,
    Ordinal,
    Range,
    action,
    constants,
    constraint,
    fresh,
    init,
    invariant,
    message,
    replace,
    require,
    state,
    transition_invariant,
    witness,
)


@constants
class Post:
    slots: int = 2
    "Letters under way at once."
    checks_epoch: bool = True
    "A letter that is older than what was accepted is dropped."


class Epoch(Ordinal): ...


@message
class Letter:
    epoch: Epoch


Letters = Annotated[Bag[Letter], AtMost(lambda: Post.slots)]
Losses = Annotated[int, Nat(2)]
Steps = Annotated[int, Nat(5)]
Doubled = Annotated[int, Range(0, 12)]
Sent = Annotated[Letter, MemberOf("letters")]


@state
class Office:
    """A sender gives its letters rising epochs; the receiver keeps the newest that it accepted."""

    issued: Epoch
    accepted: Option[Epoch]
    letters: Letters
    losses: Losses
    steps: Steps
    doubled: Doubled


@init
def opened() -> Office:
    return Office(issued=Epoch(0), accepted=None, letters=Bag(), losses=0, steps=0, doubled=0)


@init
def opened_twice() -> Office:
    return Office(issued=Epoch(0), accepted=Epoch(1), letters=Bag(), losses=0, steps=0, doubled=0)


@action(who="sender", source="-")
def send(s: Office) -> None:
    """A letter with a new epoch."""
    s.issued = fresh(s, Epoch)
    s.letters = s.letters.add(Letter(s.issued))


@action(who="sender", source="-")
def send_when_empty(s: Office) -> None:
    """A letter, if none is under way."""
    require(len(s.letters) == 0)
    s.issued = fresh(s, Epoch)
    s.letters = s.letters.add(Letter(s.issued))


@action(who="receiver", source="-")
def accept(s: Office, letter: Sent) -> None:
    """A letter arrives."""
    require(not Post.checks_epoch or s.accepted is None or s.accepted < letter.epoch)
    s.accepted = letter.epoch
    s.letters = s.letters.remove(letter)


@action(who="network", source="-")
def lose(s: Office, letter: Sent) -> None:
    """A letter is lost, within a budget."""
    require(s.losses < 2)
    s.letters = s.letters.remove(letter)
    s.losses += 1


@action(who="clock", source="-")
def tick(s: Office) -> None:
    """Two counters that belong together."""
    s.steps += 1
    s.doubled += 2


@action(who="clock", source="-")
def tick_without_bound(s: Office) -> None:
    """A counter that runs out of its range."""
    s.doubled += 2


@action(who="nobody", source="-")
def impossible(s: Office) -> None:
    """Two letters under way, of which one is newer than all that were issued."""
    require(any(s.issued < letter.epoch for letter in s.letters))
    s.issued = fresh(s, Epoch)


@invariant(source="-")
def accepted_was_issued(s: Office) -> bool:
    """Nothing is accepted that was not sent."""
    return s.accepted is None or s.accepted <= s.issued


@invariant(source="-")
def letters_were_issued(s: Office) -> bool:
    """No letter is newer than the newest that was issued."""
    return all(letter.epoch <= s.issued for letter in s.letters)


@invariant(source="-")
def one_letter_at_a_time(s: Office) -> bool:
    """True of one bag, and of no network that keeps all that was sent."""
    return len(s.letters) <= 1


@invariant(source="-")
def nothing_is_accepted(s: Office) -> bool:
    """False, as soon as a letter arrives."""
    return s.accepted is None


@transition_invariant(source="-")
def no_step_counts_after_a_letter(before: Office, after: Office) -> bool:
    """False, too: but of states that have `nothing_is_accepted` every step keeps it."""
    return before.accepted is None or before.steps == after.steps


@transition_invariant(source="-")
def nothing_becomes_accepted(before: Office, after: Office) -> bool:
    """False, too: of the states after a step nothing may be assumed, `nothing_is_accepted` least of all."""
    return before.accepted is not None or after.accepted is None


@invariant(source="-")
def doubled_is_double(s: Office) -> bool:
    """Speaks of a counter, up to its bound."""
    return s.doubled == 2 * s.steps


@transition_invariant(source="-")
def accepted_rises(before: Office, after: Office) -> bool:
    """A newly accepted epoch is newer than the one accepted before."""
    if before.accepted is None or before.accepted == after.accepted:
        return True
    return after.accepted is not None and before.accepted < after.accepted


@witness
def something_is_accepted(s: Office) -> bool:
    """A letter arrives."""
    return s.accepted is not None


@constraint
def few_steps(s: Office) -> bool:
    """Not further than this."""
    return s.doubled <= 8


POST = Model(
    name="post", doc="Letters with rising epochs.", init=opened, actions=[send, accept, lose, tick],
    properties=[accepted_was_issued, accepted_rises, something_is_accepted], lemmas=[letters_were_issued],
)  # fmt: skip
BARE = replace(POST, name="bare", lemmas=[])
COUNTED = replace(POST, name="counted", properties=[doubled_is_double])
BOTH = [one_letter_at_a_time, letters_were_issued]
ONE = replace(POST, name="one", actions=[send_when_empty, accept, lose], properties=BOTH, lemmas=[])
WRONG = replace(POST, name="wrong", properties=[nothing_is_accepted, no_step_counts_after_a_letter])
WRONG_AFTER = replace(POST, name="wrong_after", properties=[nothing_is_accepted, nothing_becomes_accepted])
BROKEN_AT_ONCE = replace(POST, name="broken_at_once", init=opened_twice)
NEVER = replace(POST, name="never", actions=[send, accept, impossible])
RUNS_OUT = replace(POST, name="runs_out", actions=[tick_without_bound], properties=[accepted_was_issued], lemmas=[])
CONSTRAINED = replace(RUNS_OUT, name="constrained", constraints=[few_steps])

MODELS = [POST, BARE, COUNTED, ONE, WRONG, WRONG_AFTER, BROKEN_AT_ONCE, NEVER, RUNS_OUT, CONSTRAINED]
