"""A fault in a file is reported for its trace and no other; declarations in a header are respected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli.commands.trace.validate import validate as trace_validate
from checker.cli.commands.trace.validate_text import corpus_text
from checker.explicit.simulate import simulate
from checker.lang.loader import BoundModel, load
from checker.validate.corpus import CorpusOptions, Summary, Verdict, validate
from checker.validate.reader import unpacked
from checker.validate.validator import REJECTED, UNDECIDED, UNREADABLE
from tests.validate.walks import Walks, text
from traces import events
from traces.ndjson import to_ndjson

ROOT = Path(__file__).parent.parent.parent
LEASE = str(ROOT / "docs" / "tutorial" / "lease.py")
START = '{"action":"init","state":{"lease":null,"serving":[]}}'


def judged(model: BoundModel, *files: bytes, **options: Any) -> Summary:
    return validate(model, [(f"t{i}", content) for i, content in enumerate(files)], CorpusOptions(**options))


def lines(*given: str, end: bool = True, **header: Any) -> bytes:
    return "".join([events.header_line(**header), *[f"{line}\n" for line in given],
                    events.end_line(len(given)) * end]).encode()  # fmt: skip


def only(summary: Summary) -> Verdict:
    assert len(summary.verdicts) == 1, summary.verdicts
    return summary.verdicts[0]


@pytest.fixture
def lease() -> BoundModel:
    return load(LEASE)


def test_plain_json_and_itf_say_the_same(lease: BoundModel) -> None:
    plain = [START, '{"action":"grant","parameters":{"broker":"broker1"},"state":{"lease":"broker1","serving":[]}}']
    itf = ['{"action":"init","state":{"lease":{"tag":"None","value":{"#tup":[]}},"serving":{"#set":[]}}}',
           '{"action":"grant","state":{"lease":{"tag":"Some","value":"broker1"},"serving":{"#set":[]}}}']  # fmt: skip
    assert judged(lease, lines(*plain), lines(*itf), lines(plain[0], itf[1])).exit_code == 0


@pytest.mark.parametrize(("bad", "said"), [
    ('{"action":"grant"', "truncated"),
    ("garbage", "malformed"),
    ('{"action":"grnat"}', "no action grnat (did you mean grant?)"),
    ('{"action":"grant","parameters":{"brocker":"broker0"}}', "no parameter brocker"),
    ('{"action":"grant","parameters":{"broker":"broker7"}}', "'broker7' is not a value of Broker"),
    ('{"action":"grant","parameters":[]}', "the parameters are not a JSON object"),
    ('{"parameters":{"broker":"broker0"}}', "parameters of no action"),
    ('{"action":"grant","paramters":{}}', "paramters"),
    ('{"state":{"leese":null}}', "leese"),
    ('{"state":{"lease":3}}', "lease: 3 is not a value of Broker"),
    ('{"state":{"serving":{"broker0":1}}}', "serving"),
    ('{"state":[]}', "object"),
    ('{"seen":{"lease":null},"action":"grant"}', "no step"),
    ('{"action":"init"}', "after other events"),
    ('{"state":{"lease":null},"state_":1}', "state_"),
])  # fmt: skip
def test_a_broken_line_spoils_its_own_trace_only(lease: BoundModel, bad: str, said: str) -> None:
    good = lines(START, '{"action":"grant"}', name="good")
    summary = judged(lease, good + lines(START, bad, '{"action":"grant"}', name="bad") + good, good)
    verdict = only(summary)
    assert (verdict.trace, verdict.status) == ("bad", UNREADABLE) and verdict.reason.startswith("line 7: ")
    assert said in verdict.reason
    assert summary.counts["accepted"] == 3 and summary.exit_code == 3


def test_an_event_before_the_broken_line_can_still_be_refused(lease: BoundModel) -> None:
    verdict = only(judged(lease, lines(START, '{"action":"expire"}', "garbage")))
    assert (verdict.status, verdict.line) == (REJECTED, 3)


@pytest.mark.parametrize(("header", "said"), [
    ('{"format":"fencepost-events","version":2}', "version 2"),
    ('{"format":"other","version":1}', "not a header"),
    ('{"version":1}', "not a header"),
    ('{"format":"fencepost-events","version":1,"constants":{"broker_stops_first":true}}', "=true, and the model has f"),
    ('{"format":"fencepost-events","version":1,"constants":{"brokers":3}}', "no constant brokers"),
    ('{"format":"fencepost-events","version":1,"modle":"lease"}', "no modle (did you mean model?)"),
    ('{"format":"fencepost-events","version":1,"starts":"here"}', '"anywhere"'),
    ('{"format":"fencepost-events","version":1,"silent":3}', "silent steps are declared as"),
    ('{"format":"fencepost-events","version":1,"silent":{"steps":1,"actions":["grnat"]}}', "did you mean grant?"),
    ('{"format":"fencepost-events","version":1', "not a header"),
    ('{"format":[]}', "not a header"),
    ('{"format":"fencepost-events","version":[1]}', "version [1]"),
    ('{"format":"fencepost-events","version":1,"constants":5}', '"constants" is an object, not 5'),
    ('{"format":"fencepost-events","version":1,"name":[]}', '"name" is a text, not []'),
    ('{"format":"fencepost-events","version":1,"events":true}', '"events" is a number, not true'),
    ('{"format":"fencepost-events","version":1,"silent":{"steps":1,"actions":5}}', '"actions" is a list, not 5'),
    ('{"format":"fencepost-events","version":1,"silent":{"steps":1,"actions":[[]]}}', "no action []"),
    ('{"format":"fencepost-events","version":1,"constants":' + "[" * 100_000, "not a header"),
    ('{"format":"fencepost-trace","version":1,"steps":{}}', '"steps" is a number, not {}'),
])  # fmt: skip
def test_a_header_that_does_not_fit(lease: BoundModel, header: str, said: str) -> None:
    verdict = only(judged(lease, f'{header}\n{START}\n{{"end":1}}\n'.encode(), lines(START)))
    assert verdict.status == UNREADABLE and said in verdict.reason, verdict


@pytest.mark.parametrize("nested", ["state", "parameters", "action", "seen", "end", "note"])
def test_nesting_without_end_spoils_its_own_trace_only(lease: BoundModel, nested: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    line = f'{{"{nested}":{{"lease":{deep}}}}}' if nested in ("state", "seen") else f'{{"{nested}":{deep}}}'
    summary = judged(lease, lines(START, line), lines(START))
    assert summary.counts["accepted"] == 1 and summary.traces == 2


def test_what_is_shown_of_a_long_value_is_short(lease: BoundModel) -> None:
    long = "x" * 2_000_000
    bad = [{"state": {"lease": long}}, {long: 1}, {"action": long}, {"action": "grant", "parameters": {long: 1}},
           {"action": "grant", "parameters": {"broker": long}}]  # fmt: skip
    files = [*[lines(START, json.dumps(line)) for line in bad], lines(START, name=long),
             lines(START, constants={long: 1})]  # fmt: skip
    found = judged(lease, *files)
    assert found.counts["unreadable"] == 6 and found.counts["accepted"] == 1
    assert max(len(v.reason) + len(v.event) + len(v.trace) for v in found.verdicts) < 3000


def test_a_small_file_that_unpacks_to_much_is_not_read(lease: BoundModel) -> None:
    bomb = gzip.compress(b"\n" * (9 << 20), mtime=0)
    assert unpacked(bomb, 8 << 20) == (b"", "it unpacks to more than 8 MiB: unpack it, or split it")
    assert unpacked(bomb + bomb, 16 << 20)[0] == b""
    assert unpacked(bomb, 9 << 20) == (b"\n" * (9 << 20), "")


def test_a_file_that_cannot_be_read_stops_nothing_else(lease: BoundModel) -> None:
    gone = FileNotFoundError(2, "No such file or directory")
    files: list[tuple[str, bytes | OSError]] = [("gone", gone), ("here", lines(START))]
    found = validate(lease, files, CorpusOptions())
    assert only(found).reason == "the file cannot be read: No such file or directory"
    assert (found.counts["accepted"], found.exit_code) == (1, 3)


def test_a_cut_file_is_noticed(lease: BoundModel) -> None:
    whole = lines(START, '{"action":"grant"}', '{"action":"start_serving"}')
    packed = gzip.compress(whole * 50, mtime=0)
    assert judged(lease, whole, packed, gzip.compress(whole) + gzip.compress(whole)).counts["accepted"] == 53
    cut = judged(lease, whole[:-4], packed[:-10], b"", gzip.compress(whole)[:5])
    assert cut.counts["unreadable"] == 4
    reasons = {v.trace: v.reason for v in cut.verdicts}
    assert (reasons["t2"], reasons["t3"]) == ("the file is empty", "the packed file was cut")
    short = only(judged(lease, lines(START, '{"action":"grant"}').replace(b'{"end":2}', b'{"end":3}')))
    assert short.status == UNREADABLE and "3 events are announced, and there are 2" in short.reason
    unended = judged(lease, lines(START, end=False))
    assert unended.exit_code == 0 and unended.endless == 1


def test_why_a_trace_is_rejected(lease: BoundModel) -> None:
    grant = '{"action":"grant","parameters":{"broker":"broker0"}}'
    refused = only(judged(lease, lines(START, grant, grant)))
    assert refused.line == 4 and refused.event == "grant(broker=broker0)"
    assert "is refused by require(s.lease is None)" in refused.reason and "lease.py:29" in refused.reason
    assert refused.nearest is not None and refused.nearest["lease"]["value"] == "broker0"
    elsewhere = only(judged(lease, lines(START, grant[:-1] + ',"state":{"lease":"broker1"}}')))
    assert elsewhere.reason == "leads elsewhere: lease: broker0, not broker1"
    nothing = only(judged(lease, lines(START, '{"state":{"serving":["broker0","broker1"]}}')))
    assert nothing.reason.startswith("no action leads to this state; the nearest, grant, leads elsewhere")
    start = only(judged(lease, lines('{"action":"init","state":{"lease":"broker0"}}')))
    assert start.reason == "this is not an initial state: lease: –, not broker0" and start.line == 2
    seen = only(judged(lease, lines(START, '{"seen":{"lease":"broker0"}}')))
    assert seen.reason == "the state is not what was seen: lease: –, not broker0"


def test_it_is_the_first_event_that_is_reported(lease: BoundModel) -> None:
    whole = '{"action":"grant","state":{"lease":"%s","serving":[]}}'
    trace = lines(START, "{}", '{"action":"stop_serving"}', whole % "broker0", whole % "broker1", whole % "broker1")
    assert only(judged(lease, trace)).line == 4


def test_ordinals_are_the_implementations_own_numbers() -> None:
    model = load(str(ROOT / "tests/models/ordinals.py/sessions"))

    def trace(*sessions: dict[str, int | None]) -> bytes:
        return lines(*[json.dumps({"state": {"session": s}}) for s in sessions])

    accepted = judged(model, trace({"broker0": 70}, {"broker1": 900}, {"broker0": None}, {"broker2": 901}))
    assert accepted.exit_code == 0
    # 70 is not above 900, which broker1 still has; once that is gone, it may be
    verdict = only(judged(model, trace({"broker1": 900}, {"broker0": 70}),
                          trace({"broker1": 900}, {"broker1": None}, {"broker0": 70})))  # fmt: skip
    assert (verdict.trace, verdict.line) == ("t0", 3)
    assert verdict.reason == ("no action leads to this state; the nearest, register, leads elsewhere: "
                              "session[broker0]: 901, not 70")  # fmt: skip


def test_a_set_with_a_bound_holds_each_member_once() -> None:
    model = load(str(ROOT / "tests/models/members.py/claims"))

    def trace(*claims: tuple[str, int]) -> bytes:
        told = [{"by": by, "epoch": epoch} for by, epoch in claims]
        return lines('{"action":"init"}', '{"action":"claim"}', '{"action":"new_epoch"}', '{"action":"claim"}',
                     json.dumps({"seen": {"claims": told}}), name=str(len(claims)))  # fmt: skip

    old, new = ("node0", 3), ("node0", 8)
    assert judged(model, trace(old, new), trace(new, old)).exit_code == 0
    assert "a member twice" in only(judged(model, trace(old, old))).reason
    assert "3 elements" in only(judged(model, trace(old, new, ("node1", 8)))).reason
    assert only(judged(model, trace(old))).status == REJECTED


def test_a_message_is_a_key_whatever_the_order_of_its_fields() -> None:
    model = load(str(ROOT / "tests/models/members.py/linked"))

    def trace(linked: bool) -> bytes:
        pairs = [[{"b": b, "a": "node0"}, linked if b == "node1" else False] for b in ("node1", "node0")]
        return lines('{"action":"init"}', '{"action":"link","parameters":{"pair":{"b":"node1","a":"node0"}}}',
                     json.dumps({"seen": {"linked": {"#map": pairs}}}))  # fmt: skip

    assert judged(model, trace(linked=True)).exit_code == 0
    assert only(judged(model, trace(linked=False))).status == REJECTED


def test_members_of_the_state_are_parameters_by_their_value() -> None:
    model = load(str(ROOT / "tests/models/collections_of_values.py/stamped_bag"))
    send, take = '{"action":"send"}', '{"action":"deliver","parameters":{"message":%s}}'
    name = model.parameters(next(a for a in model.model.actions if a.name == "deliver"))[0].name
    take = take.replace("message", name)
    good = lines('{"action":"init","state":{"newest":4,"network":[]}}', send, '{"action":"send","state":{"newest":9}}',
                 take % '{"epoch":9}')  # fmt: skip
    bad = good.replace(b'{"epoch":9}', b'{"epoch":4}')
    verdict = only(judged(model, good, bad))
    assert (verdict.trace, verdict.line) == ("t1", 5) and "is not a member of network there" in verdict.reason


def test_silent_steps_are_taken_up_to_the_bound_that_is_declared(lease: BoundModel) -> None:
    served = '{"state":{"serving":["broker0"]}}'
    assert only(judged(lease, lines(START, served))).status == REJECTED
    assert judged(lease, lines(START, served), silent=1).exit_code == 0
    assert judged(lease, lines(START, served, silent={"steps": 1, "actions": ["grant"]})).exit_code == 0
    verdict = only(judged(lease, lines(START, served, silent={"steps": 1, "actions": ["expire"]})))
    assert verdict.reason.startswith("within 1 silent steps, no action leads")


def test_an_action_that_may_have_been_taken_unobserved_is_possible(lease: BoundModel) -> None:
    found = judged(lease, lines(START, '{"state":{"serving":["broker0"]}}'), silent=1)
    certain = {name for name, events in found.actions.items() if events}
    assert (certain, found.possible) == ({"start_serving"}, {"grant", "start_serving"})
    assert "\n  perhaps: grant\n  never: " in corpus_text(lease, found, 1)


def test_a_trace_may_start_anywhere_where_it_says_so(lease: BoundModel) -> None:
    mid = '{"state":{"lease":"broker1","serving":["broker0"]}}'
    rest = '{"action":"start_serving","parameters":{"broker":"broker1"}}'
    assert only(judged(lease, lines(mid, rest))).line == 2
    assert judged(lease, lines(mid, rest, starts="anywhere")).exit_code == 0
    half = '{"state":{"lease":"broker1"}}'
    verdict = only(judged(lease, lines(half, rest, starts="anywhere")))
    assert verdict.status == UNREADABLE and "given in full" in verdict.reason


def test_what_a_bound_cuts_is_undecided() -> None:
    model = load(str(ROOT / "tests/models/collections_of_values.py/words"))
    verdict = only(judged(model, lines(*['{"action":"append"}'] * 9)))
    assert verdict.status == UNDECIDED and "bound" in verdict.reason


def test_too_many_candidates_are_undecided(lease: BoundModel) -> None:
    verdict = only(judged(lease, lines(*["{}"] * 6), max_candidates=3))
    assert verdict.status == UNDECIDED and "more than 3 candidates" in verdict.reason


def test_traces_of_the_checker_are_read_too(lease: BoundModel) -> None:
    found = simulate(lease, seed=1, walks=50, max_steps=30)
    assert found.trace is not None
    content = to_ndjson(found.trace)
    assert judged(lease, content.encode()).exit_code == 0
    assert judged(lease, "".join(content.splitlines(keepends=True)[:-1]).encode()).exit_code == 3


def test_what_was_covered_is_counted_once(lease: BoundModel) -> None:
    walks = Walks(lease, 3)
    traces = [walks.walk(10) for _ in range(5)]
    one, two = judged(lease, *map(text, traces)), judged(lease, *map(text, traces * 2))
    assert sum(one.actions.values()) == sum(len(t) - 1 for t in traces)
    assert {n: 2 * c for n, c in one.actions.items()} == two.actions
    assert len(one.transitions) == len(two.transitions) > 5
    one.add(two)
    assert len(one.transitions) == len(two.transitions) and one.traces == 15


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "good.ndjson.gz").write_bytes(gzip.compress(lines(START, '{"action":"grant"}')))
    bad = lines(START, '{"action":"expire"}')
    (tmp_path / "bad.ndjson").write_bytes(bad)
    arguments = [str(tmp_path), "--model", LEASE, "--rejected", str(tmp_path / "kept"), "--quiet"]
    done = run(trace_validate, arguments, standalone_mode=False)
    assert done.return_value == 1, done.output
    assert "2 traces: 1 accepted, 1 rejected" in done.output
    assert "is refused by require(s.lease is not None)" in done.output
    kept = list((tmp_path / "kept").iterdir())
    assert len(kept) == 1 and kept[0].name.endswith("bad.ndjson") and kept[0].read_bytes() == bad
    done = run(trace_validate, [str(tmp_path / "deep"), "--model", LEASE, "--json", "--quiet"], standalone_mode=False)
    assert done.return_value == 0 and json.loads(done.output)["accepted"] == 1
    done = run(trace_validate, [str(tmp_path / "none"), "--model", LEASE], standalone_mode=False)
    assert "there is no file" in str(done.exception)
