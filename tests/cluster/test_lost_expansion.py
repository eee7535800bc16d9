"""The counterexample of the finding on a dropped expansion of the ISR, taken step by step on a real Apache Kafka."""

from __future__ import annotations

import pytest

from tests.cluster.kafka import missing
from tests.cluster.lost_expansion import lost_expansion

pytestmark = [
    pytest.mark.long("a cluster of four JVMs"),
    pytest.mark.skipif(bool(missing()), reason=missing() or "there is an Apache Kafka"),
]


def test_an_acknowledged_record_is_lost() -> None:
    found = lost_expansion()
    assert len(found.acknowledged) == 2, found.story
    assert found.lost == found.acknowledged[1:], found.story


@pytest.mark.large("a minute more: a cluster of four JVMs")
def test_the_leader_waits_where_the_record_arrives_in_order() -> None:
    found = lost_expansion(in_order=True)
    assert (len(found.acknowledged), found.lost) == (1, []), found.story
