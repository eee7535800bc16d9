"""What a run says of itself, and raw traces that are too few."""

from __future__ import annotations

import pytest

from impl.kraft.recorded.events import RawTraceError
from impl.kraft.recorded.run import Decided, Elected, Looked, Run, Started, Stopping
from impl.kraft.tools.trace import traces_of
from tests.impl.kraft.recorded.made_records import change, fenced, topic
from tests.impl.kraft.recorded.raw_run import FIRST, SECOND, RawRun, alter


def test_what_happened_stands_in_its_order_and_brokers_count_from_zero() -> None:
    run = RawRun()
    run.run(SECOND)
    run.run(FIRST)
    run.write(FIRST, "sigterm")
    run.lapse(FIRST, [fenced(FIRST, 3)])
    found = list(Run(run.events).steps())
    assert found[:2] == [Elected(1), Started(1, 0)] and Started(0, 1) in found and Stopping(0) in found
    assert Looked(1, 0, "RUNNING") in found
    registered, *_, lapsed = (step for step in found if isinstance(step, Decided))
    (asked,) = registered.asked
    assert (asked.api, asked.broker, asked.process, asked.is_heard) == ("BrokerRegistration", 1, 0, True)
    assert (lapsed.lapsed, lapsed.asked, lapsed.records[0].fields["brokerId"]) == (0, (), 0)
    assert lapsed.last_offset == run.offset - 1


def test_a_run_that_has_begun_before_its_traces_is_refused() -> None:
    run = RawRun()
    run.run(FIRST)
    events = [event for event in run.events if event["event"] != "appended"]
    first = next(event for event in events if event["event"] == "started")
    later = [first | {"batches": [[2, 1, 0]]}, *(event for event in events if event is not first)]
    with pytest.raises(RawTraceError, match=r"who appended the batch of epoch 1 that ends at 2 has no raw trace"):
        Run(later)


def test_a_broker_without_a_raw_trace_is_named() -> None:
    run = RawRun()
    run.run(FIRST)
    run.append(topic(FIRST, SECOND))
    with pytest.raises(RawTraceError, match=r"raw:\d+: broker 12 has no raw trace among these"):
        traces_of(run.events)


def test_more_brokers_than_the_model_can_have_are_refused() -> None:
    run = RawRun()
    for broker in range(20, 26):
        run.run(broker)
    with pytest.raises(RawTraceError, match="traces of 6 brokers, and the model has 5 at most"):
        traces_of(run.events)


def test_of_what_is_appended_at_once_a_first_part_may_be_committed() -> None:
    run = RawRun()
    run.run(FIRST)
    run.handle(alter(FIRST, 1, {FIRST: 1}), None, [change(isr=(FIRST,))], commits=False)
    whole = run.events
    appended = whole[-1]
    end, epoch, _ = appended["batches"][0]
    two = appended | {"batches": [[end, epoch, 0], [end + 1, epoch, 0]]}
    committed = next(event for event in whole if event["event"] == "committed") | {"end_offset": end}
    *_, before, decided = Run([*whole[:-1], two, committed]).steps()
    assert isinstance(decided, Decided) and len(decided.records) == 1 and decided.last_offset == end - 1
    assert not isinstance(before, Decided), "the broker runs"


@pytest.mark.parametrize(("event", "lacks"), [("request_handled", "calls"), ("request_sent", "request")])
def test_lines_that_no_node_writes_are_refused(event: str, lacks: str) -> None:
    run = RawRun()
    run.run(FIRST)
    events = [
        {name: value for name, value in one.items() if (one["event"], name) != (event, lacks)} for one in run.events
    ]
    with pytest.raises(RawTraceError, match=rf"no node writes \(KeyError\('{lacks}'\)\)"):
        traces_of(events)
