"""Subscriptions: names, wildcards, and whatever is neither."""

from __future__ import annotations

import time

import pytest

from impl.group.assignment import ranges
from impl.group.protocol import TopicPartition
from impl.group.topic_count import Named, TopicCountError, Wildcard, read_topic_count, threads_of


def test_topics_by_name() -> None:
    found = read_topic_count('{"orders": 2, "payments": 1}')
    assert found == Named((("orders", 2), ("payments", 1)))
    assert [threads_of(found, topic, ()) for topic in ("orders", "payments", "other")] == [2, 1, 0]


def test_wildcards_match_whole_names_and_a_comma_is_or() -> None:
    topics = ["orders", "orders-eu", "payments", "audit"]
    white, black = read_topic_count("*2*orders.*,audit"), read_topic_count("!1!orders")
    assert isinstance(white, Wildcard) and isinstance(black, Wildcard)
    assert white.of(topics) == {"orders", "orders-eu", "audit"}
    assert black.of(topics) == {"orders-eu", "payments", "audit"}
    assert threads_of(white, "audit", white.of(topics)) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "neither JSON"),
        ("orders", "neither JSON"),
        ("[" * 100_000, "neither JSON"),
        ("[]", "an object of topics"),
        ("{}", "an object of topics"),
        ('{"orders": "2"}', "a number from 1 to 1000"),
        ('{"orders": 0}', "a number from 1 to 1000"),
        ('{"orders": true}', "a number from 1 to 1000"),
        ('{"a/b": 1}', "no name of a topic"),
        ('{"..": 1}', "no name of a topic"),
        ("*1*", "EXPRESSION is expected"),
        ("*1!a", "EXPRESSION is expected"),
        ("*x*a", "EXPRESSION is expected"),
        ("*0*a", "a number from 1 to 1000"),
        ("*1*(a", "no regular expression"),
        (r"*1*(a)\1", "no regular expression"),
        ("*1*((((a{1000}){1000}){1000}){1000})", "no regular expression"),
        ("*1*" + "a" * 2_000, "2000 characters"),
        ("*1*\ud800", "no regular expression"),
    ],
)
def test_what_nobody_can_subscribe_by_is_refused(text: str, why: str) -> None:
    with pytest.raises(TopicCountError, match=why):
        read_topic_count(text)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "a*" * 400 + "b"])
def test_no_expression_explodes(pattern: str) -> None:
    """With a matcher that backtracks, each of these runs for longer than anybody waits."""
    before = time.process_time()
    assert read_topic_count(f"*1*{pattern}").of(["a" * 250]) == frozenset()  # type: ignore[union-attr]  # it is a pattern
    assert time.process_time() - before < 5


def test_partitions_go_in_runs_to_sorted_threads_and_the_first_get_one_more() -> None:
    owners = ranges({"t": ["0-10", "0-2", "1-0", "0-1", "1-1"], "u": ["0-0"]}, {"t": ["b-0", "a-1", "a-0"], "u": []})
    assert owners == {
        TopicPartition("t", "0-1"): "a-0",
        TopicPartition("t", "0-2"): "a-0",
        TopicPartition("t", "0-10"): "a-1",
        TopicPartition("t", "1-0"): "a-1",
        TopicPartition("t", "1-1"): "b-0",
    }
