"""Subscriptions: 0.7's topic_count, which names topics with a number of threads each, or a wildcard.

`{"orders": 2}` subscribes by name, `*1*orders-.*` to all topics that the expression matches, `!1!tests-.*` to all
others. Expressions are RE2's, which takes time in proportion to the name whatever the expression; a comma means "or".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

MOST_THREADS = 1_000
MOST_PATTERN_CHARACTERS = 1_000
_MOST_TOPIC_CHARACTERS = 255
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_WILDCARD = re.compile(r"([*!])([0-9]{1,9})\1(.+)", re.DOTALL)


class TopicCountError(ValueError):
    """A topic_count that nobody can subscribe by. The message says what it takes."""


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A subscription by expression. is_white: to topics that it matches; else to all others."""

    pattern: str
    threads: int
    is_white: bool

    def of(self, topics: Collection[str]) -> frozenset[str]:
        """Those of the topics that it subscribes to."""
        names = sorted(topics)
        found = pc.match_substring_regex(pa.array(names, pa.string()), pattern=self.pattern).to_pylist()
        return frozenset(name for name, matches in zip(names, found, strict=True) if matches == self.is_white)


@dataclass(frozen=True, slots=True)
class Named:
    """A subscription by name: topics, each with its number of threads, sorted."""

    threads: tuple[tuple[str, int], ...]


Subscription = Named | Wildcard


def threads_of(subscription: Subscription, topic: str, known: Collection[str]) -> int:
    """The number of threads for a topic; 0: it is not subscribed to. known: the topics of a wildcard."""
    if isinstance(subscription, Named):
        return dict(subscription.threads).get(topic, 0)
    return subscription.threads if topic in known else 0


def read_topic_count(text: str) -> Subscription:
    """The subscription that a topic_count says. Raises TopicCountError."""
    if text[:1] in ("*", "!"):
        return _wildcard(text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise TopicCountError(f"{text[:60]!r} is neither JSON nor a wildcard") from None
    if not isinstance(found, dict) or not found:
        raise TopicCountError(f"{text[:60]!r}: an object of topics and numbers of threads is expected")
    for topic, threads in found.items():
        if not is_topic(topic):
            raise TopicCountError(f"{topic[:60]!r} is no name of a topic")
        _check_threads(threads)
    return Named(tuple(sorted(found.items())))


def is_topic(name: str) -> bool:
    """A name that a topic may have: it becomes a path in ZooKeeper."""
    return len(name) <= _MOST_TOPIC_CHARACTERS and name not in (".", "..") and _TOPIC.fullmatch(name) is not None


def _wildcard(text: str) -> Wildcard:
    parts = _WILDCARD.fullmatch(text)
    if parts is None:
        raise TopicCountError(f"{text[:60]!r}: *N*EXPRESSION or !N!EXPRESSION is expected")
    kind, threads, expression = parts.groups()
    _check_threads(int(threads))
    if len(expression) > MOST_PATTERN_CHARACTERS:
        raise TopicCountError(
            f"an expression of {len(expression)} characters; up to {MOST_PATTERN_CHARACTERS} are read"
        )
    wildcard = Wildcard(f"^(?:{expression.strip().replace(',', '|')})$", int(threads), kind == "*")
    try:
        wildcard.of(["a"])
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise TopicCountError(f"{expression[:60]!r} is no regular expression: {error}") from None
    return wildcard


def _check_threads(threads: object) -> None:
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise TopicCountError(f"{threads!r} threads: a number from 1 to {MOST_THREADS} is expected")
