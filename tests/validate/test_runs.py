"""Runs of several processes against brute force: every order that causes allow, each by the oracle of single traces."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from checker.cli.commands.trace.merge import merge as merge_command
from checker.lang.loader import BoundModel, load
from checker.validate import corpus
from checker.validate.corpus import CorpusOptions, validate
from checker.validate.orders import Orders
from checker.validate.reader import Recorded
from checker.validate.validator import ACCEPTED, CUT, REJECTED, UNDECIDED, UNREADABLE, Rejection, Validator
from tests.validate.oracle import Oracle
from tests.validate.walks import Event, Walks
from traces import TraceError, events, merging
from traces.events import end_line, header_line
from traces.merging import Stamp, linear, merge, predecessors

ROOT = Path(__file__).parent.parent.parent
LEASE = "docs/tutorial/lease.py"
MODELS = [LEASE, "tests/models/two_phase_commit.py", *[f"tests/models/shapes.py/{name}" for name in ("locks", "mail")],
          "tests/models/ordinals.py/sessions"]  # fmt: skip
PROCESSES = ("a", "b", "c")


def orders(stamps: Sequence[Stamp]) -> Iterator[tuple[int, ...]]:
    """All orders of events, straight from what the stamps mean."""
    if any(set(stamp.sends) & set(stamp.receives) for stamp in stamps):
        return
    for order in permutations(range(len(stamps))):
        if all(
            not must_precede(stamps, order[j], order[i]) for i in range(len(order)) for j in range(i + 1, len(order))
        ):
            yield order


def must_precede(stamps: Sequence[Stamp], one: int, other: int) -> bool:
    first, second = stamps[one], stamps[other]
    if first.is_initial or second.is_initial:
        return first.is_initial
    counters = dict(second.at)
    return (
        (first.process == second.process and one < other)
        or bool(set(first.sends) & set(second.receives))
        or any(counter in counters and value < counters[counter] for counter, value in first.at)
    )


def stamped(chance: random.Random, trace: Sequence[Event]) -> list[Stamp]:
    """Stamps for the events of a behaviour: each of some process, with some of the causes that it had."""
    stamps = [Stamp("a", is_initial=True)]
    for number in range(1, len(trace)):
        earlier = [f"m{n}" for n in range(1, number)]
        receives = tuple(chance.sample(earlier, min(chance.choice([0, 1]), len(earlier))))
        at = (("zxid", number // 2),) if chance.random() < 0.5 else ()
        stamps.append(Stamp(chance.choice(PROCESSES), (f"m{number}",), receives, at))
    return stamps


def files(trace: Sequence[Event], stamps: Sequence[Stamp], chance: random.Random) -> list[tuple[str, str]]:
    """Traces as the processes would have recorded them. Their clocks tell nothing. note: the place in `trace`."""
    found = []
    for process in PROCESSES:
        lines = [header_line(process=process)]
        for number, (event, stamp) in enumerate(zip(trace, stamps, strict=True)):
            if stamp.process == process:
                line = json.loads(event.line())
                line |= {"sends": stamp.sends, "receives": stamp.receives, "at": dict(stamp.at), "note": number}
                lines.append(json.dumps({**line, "time_ms": chance.randrange(100)}) + "\n")
        found.append((f"{process}.ndjson", "".join([*lines, end_line(len(lines) - 1)])))
    return found


def judged(model: BoundModel, text: str, **options: Any) -> str:
    """The verdict on a run; "" where it is none to compare: it cannot be read, or a bound of the model is exceeded."""
    summary = validate(model, [("run", text.encode())], CorpusOptions(**options))
    if not summary.verdicts:
        return ACCEPTED
    (verdict,) = summary.verdicts
    return "" if verdict.status == UNREADABLE or verdict.reason == CUT else verdict.status


@pytest.mark.parametrize("name", MODELS)
def test_the_verdict_on_a_run_is_that_of_brute_force_over_all_orders(name: str) -> None:
    found = compare(name, runs=24)
    assert found[ACCEPTED] > 5 and found[REJECTED] > 2 and found["in another order than the file's"] > 2, found


def compare(name: str, runs: int) -> Counter[str]:
    """Judge so many runs by the validator and by brute force: walks, of which less and less was recorded."""
    model = load(str(ROOT / name))
    made, oracle, chance = Walks(model, seed=3), Oracle(model), random.Random(5)
    found: Counter[str] = Counter()
    for number in range(runs):
        start, *rest = made.walk(5)
        shown = made.partial(rest) if number % 4 else rest
        shown = [replace(event, state=None) for event in shown if not event.look] if number % 2 else shown
        if number % 3:
            shown = [event for event in made.corrupted([start, *shown])[1:] if event.action != events.INIT]
        shown = [start, *shown[:5]]
        stamps = stamped(chance, shown)
        text = merge(files(shown, stamps, chance))
        verdict = judged(model, text)
        if not verdict:
            continue
        accepted = [order for order in orders(stamps) if oracle.accepts([shown[event] for event in order])]
        assert (verdict == ACCEPTED) == bool(accepted), f"{verdict}, and by brute force {accepted}\n{text}"
        found[verdict] += 1
        in_file = tuple(line["note"] for line in map(json.loads, text.splitlines()) if "note" in line)
        found["in another order than the file's"] += bool(accepted) and in_file not in accepted
    return found


def only_the_files_order(validator: Validator, run: Recorded) -> Rejection | None:
    return validator.rejections([run])[0]


def any_event_next(self: Orders, prefix: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    return [
        (mine[prefix[process]], (*prefix[:process], prefix[process] + 1, *prefix[process + 1 :]))
        for process, mine in enumerate(self.events)
        if prefix[process] < len(mine)
    ]


def nothing(*_: Any, **__: Any) -> None:
    return None


GRANT = {"action": "grant", "parameters": {"broker": "broker0"}}
EXPIRE = {"action": "expire"}


def recorded(process: str, *lines: dict[str, Any], end: bool = True, **header: Any) -> tuple[str, str]:
    text = "".join([header_line(process=process, **header), *[json.dumps(line) + "\n" for line in lines]])
    return f"{process}.ndjson", text + end_line(len(lines)) * end


@pytest.mark.sample(1)
@pytest.mark.parametrize(("stamp_a", "stamp_b", "expected", "owner", "name", "fault"), [
    ({"time_ms": 1}, {"time_ms": 2}, ACCEPTED, corpus, "in_any_order", only_the_files_order),
    ({"sends": ["m"]}, {"receives": ["m"]}, REJECTED, Orders, "next", any_event_next),
    ({"sends": ["m"]}, {"receives": ["m"]}, REJECTED, merging, "_add_messages", nothing),
    ({"at": {"zxid": 1}}, {"at": {"zxid": 2}}, REJECTED, merging, "_add_counters", nothing),
])  # fmt: skip
def test_a_fault_in_the_orders_changes_a_verdict(
    stamp_a: dict[str, Any], stamp_b: dict[str, Any], expected: str, owner: Any, name: str, fault: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A lease that expires in one process, and is granted in another: in that order it is no behaviour."""
    model = load(str(ROOT / LEASE))
    recordings = [recorded("a", EXPIRE | stamp_a), recorded("b", GRANT | stamp_b)]
    assert judged(model, merge(recordings)) == expected
    monkeypatch.setattr(owner, name, fault)
    assert judged(model, merge(recordings)) != expected


stamps_of_runs = st.lists(
    st.builds(
        Stamp, st.sampled_from(PROCESSES), st.just(()), is_initial=st.just(False),
        receives=st.lists(st.sampled_from(["m0", "m1", "m2"]), max_size=1).map(tuple),
        at=st.lists(st.tuples(st.just("zxid"), st.integers(0, 3)), max_size=1).map(tuple),
    ), max_size=6,
)  # fmt: skip


@given(stamps_of_runs, st.permutations(range(6)))
def test_the_orders_of_a_run_are_those_that_its_stamps_allow(stamps: list[Stamp], senders: list[int]) -> None:
    for label, sender in zip(("m0", "m1", "m2"), senders, strict=False):
        if sender < len(stamps):
            stamps[sender] = stamps[sender]._replace(sends=(label,))
    expected = set(orders(stamps))
    try:
        after = predecessors(stamps, killed=["d"])
    except TraceError as error:
        assert "causes form a circle: event " in str(error) and not expected
        return
    assert set(all_orders(Orders([stamp.process for stamp in stamps], after))) == expected
    assert tuple(linear(after)) in expected


def all_orders(run: Orders) -> Iterator[tuple[int, ...]]:
    def go_on(prefix: tuple[int, ...], taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if sum(prefix) == sum(map(len, run.events)):
            yield taken
        for event, after in run.next(prefix):
            yield from go_on(after, (*taken, event))

    return go_on(run.start, ())


START = '{"action":"init","state":{"lease":null,"serving":[]}}'


@pytest.mark.sample(1)
@pytest.mark.parametrize(("first", "event", "line", "others"), [
    ([GRANT, EXPIRE], "stop_serving", 4, ""),
    ([EXPIRE], "expire", 2, "; what else could come next does not fit either (line 3)"),
])  # fmt: skip
def test_a_run_that_no_order_explains_is_reported_with_what_could_come_next(
    first: list[dict[str, Any]], event: str, line: int, others: str
) -> None:
    run = merge([recorded("a", *first), recorded("b", {"action": "stop_serving"})])
    (verdict,) = validate(load(str(ROOT / LEASE)), [("run", run.encode())], CorpusOptions()).verdicts
    assert (verdict.status, verdict.event, verdict.line) == (REJECTED, event, line)
    assert verdict.reason.startswith("in no order that causes allow; is refused by require(")
    assert verdict.reason.partition(")")[2].partition(")")[2] == others


def test_a_run_with_too_many_orders_is_undecided() -> None:
    model = load(str(ROOT / LEASE))
    run = merge([recorded("a", {}, {}, {"seen": {"serving": ["broker1"]}}), recorded("b", {"action": "expire"}, {})])
    assert judged(model, run) == ACCEPTED
    assert judged(model, run, max_candidates=2) == UNDECIDED


@pytest.mark.parametrize(("recordings", "said"), [
    ([("a", "")], "it does not begin with a header"),
    ([("a", header_line())], "a: its header names no process"),
    ([("a", header_line(process="a") + "[]\n")], "a, line 2: this is not a JSON object"),
    ([("a", header_line(process="a") + "{\n")], "a, line 2: this is not JSON"),
    ([recorded("a"), ("a2", header_line(process="a"))], "two traces are of the process a"),
    ([recorded("a", model="x"), recorded("b", model="y")], '"model" is "y", and "x" in a.ndjson'),
    ([recorded("a", {"receives": ["m"]})], "a receives m, which nobody sends"),
    ([recorded("a", {"sends": ["m"]}), recorded("b", {"sends": ["m"]})], "m is sent twice, by a and by b"),
    ([recorded("a", {"receives": ["n"], "sends": ["m"]}), recorded("b", {"receives": ["m"], "sends": ["n"]})],
     "causes form a circle: event 1 of a, after event 1 of b, after event 1 of a"),
    ([recorded("a", {"action": "init"}), recorded("b", {"action": "init"})], "recorded 2 times"),
    ([recorded("a", {"at": {"zxid": "1"}})], 'a.ndjson, line 2: "at" is an object of counters'),
    ([recorded("a", {"sends": "m"})], 'a.ndjson, line 2: "sends" is a list of texts'),
    ([("a", header_line(process="a") + end_line(3))], "a, line 2: 3 events are announced, and there are 0"),
    ([("a", header_line(process="a") + end_line(0) + "{}\n")], "a, line 3: it goes on after its end"),
    ([("a", header_line(process="a") * 2)], "a, line 2: a second trace begins"),
])  # fmt: skip
def test_what_cannot_be_merged(recordings: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(TraceError) as error:
        merge(recordings)
    assert said in str(error.value)


def test_a_process_that_was_killed_may_lack_its_last_event_and_leave_half_a_line() -> None:
    name, killed = recorded("a", GRANT, end=False)
    text = merge([(name, killed + '{"action":"exp'), recorded("b", {"receives": ["lost"]})])
    header, *lines = map(json.loads, text.splitlines())
    assert (header["processes"], header["killed"], len(lines)) == (["a", "b"], ["a"], 3)


@pytest.mark.parametrize(("text", "said"), [
    (header_line(process="a") + START + "\n", 'one process of a run, "a": fencepost trace merge'),
    (header_line(processes=["a"]) + START + "\n", "line 2: this is a run of several processes"),
    (header_line() + '{"action":"grant","process":"a"}\n', 'of process "a", and the header names no processes'),
    (header_line(processes=["a"]) + '{"action":"grant","process":"b"}\n', 'the header does not name the process "b"'),
    (header_line() + '{"action":"grant","sends":["m"]}\n', "and names no process"),
    (header_line(processes=["a"]) + '{"process":"a","receives":["m"]}\n', "a receives m, which nobody sends"),
    (header_line(processes="a"), '"processes" is a list'),
    (header_line(processes=["a"], starts="anywhere"), "starts in"),
])  # fmt: skip
def test_runs_that_cannot_be_read(text: str, said: str) -> None:
    (verdict,) = validate(load(str(ROOT / LEASE)), [("run", text.encode())], CorpusOptions()).verdicts
    assert verdict.status == UNREADABLE and said in verdict.reason, verdict


def test_the_command_merges_files(tmp_path: Path) -> None:
    paths = []
    for name, text in (recorded("a", GRANT), recorded("b")):
        paths.append(str(tmp_path / name))
        (tmp_path / name).write_text(text)
    printed = CliRunner().invoke(merge_command, paths)
    assert printed.exit_code == 0 and json.loads(printed.stdout.splitlines()[1])["process"] == "a"
    written = CliRunner().invoke(merge_command, [*paths, "--out", str(tmp_path / "run.ndjson")])
    assert written.exit_code == 0 and (tmp_path / "run.ndjson").read_text() == printed.stdout
    missing = CliRunner().invoke(merge_command, [str(tmp_path / "none")])
    assert isinstance(missing.exception, TraceError) and "cannot read it: No such file" in str(missing.exception)
