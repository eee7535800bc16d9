"""ITF JSON, the Informal Trace Format of Apalache (ADR-015), out and in.

What we write is valid ITF, names actions and picks as Quint does, and can be loaded by itf-py. That last one
costs a small escape: itf-py (0.5) makes a named tuple of every case of a tagged union, and so cannot load a
tag that is a keyword of Python ("None"!) nor a payload such as {"#set": [...]}. In our files therefore

    a tag that is a keyword gets an underscore          {"tag": "None_", ...}
    the payload of a bare case is {}                    {"tag": "None_", "value": {}}
    a payload that is not a scalar, list or record is      {"tag": "Some", "value": {"value": {"#set": [...]}}}
    wrapped in one: itf-py gives Some(value=frozenset(...)), just as it gives Some(value=1)

Reading undoes it, but only in files that carry our mark; a file of another tool is taken literally.
"""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from traces.document import (
    VERSION,
    check_version,
    header_to_json,
    step_from_json,
    step_to_json,
    trace_from_json,
)
from traces.reading import Json, portable_record
from traces.trace import Step, Trace, TraceError, Value
from traces.values import case

ADR = "https://apalache-mc.org/docs/adr/015adr-trace.html"
ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"


def to_itf(trace: Trace) -> dict[str, Any]:
    """`trace` as an ITF object, ready for `json.dumps`.

    What ITF has no place for is kept under the key "fencepost" of the trace's and the states' #meta, so that
    `from_itf` loses nothing; so is a last step that broke while it ran, since it has no state.
    Raises `TraceError` when a state lacks a variable that another one has.
    """
    stated = [step for step in trace.steps if step.state is not None]
    variables = list(dict.fromkeys(name for step in stated for name in step.state or {}))
    for step in stated:
        if missing := [name for name in variables if name not in (step.state or {})]:
            what = f'the state of step {step.index} lacks "{missing[0]}"'
            raise TraceError(what, hint="ITF wants every variable in every state")
    broken = [step_to_json(step) for step in trace.steps if step.state is None]
    # a constant and a variable of one name cannot both be a field of the first state; #meta has all constants
    params = [name for name in trace.constants if name not in variables] if stated else []
    states = [_state_to_itf(step) for step in stated]
    for name in params:
        states[0][name] = _escape(portable_record(trace.constants)[name])
    return {
        "#meta": {
            "format": "ITF",
            "format-description": ADR,
            "source": trace.model,
            "description": "Created by Fencepost",
            "fencepost": {"version": VERSION, **header_to_json(trace), "broken": broken},
        },
        "params": params,
        "vars": [*variables, ACTION, PICKS],
        "states": states,
        **({} if trace.loop is None else {"loop": trace.loop}),
    }


def from_itf(obj: object) -> Trace:
    """The trace of an ITF object, ours or of another tool. Raises `TraceError` with the JSON path.

    A file of another tool gives its variables, its actions and picks where it was written with them (Quint's
    --mbt), its parameters as constants, and its source as the model.
    """
    itf = Json(obj)
    for name in ("vars", "states"):
        if name not in itf.fields():
            raise TraceError(f'this is not an ITF file: the field "{name}" is missing')
    meta = itf.get("#meta", {})
    ours = meta.fields().get("fencepost")
    if ours is not None:
        check_version(ours)
    params = set(itf.get("params", []).texts())
    promised = [name for name in itf.field("vars").texts() if name not in (ACTION, PICKS)]
    states = itf.field("states").items()
    steps = [_step(state, position, params, ours is not None) for position, state in enumerate(states, start=1)]
    for step, place in zip(steps, states, strict=True):
        missing = [name for name in promised if name not in (step.state or {})]
        if missing:
            raise TraceError(f'the variable "{missing[0]}" is missing', where=place.path)
    if ours is not None:
        steps += [step_from_json(step) for step in ours.field("broken").items()]
        trace = trace_from_json(ours, steps)
        loop = itf.get("loop", None).value
        if loop != trace.loop:
            raise TraceError(f"the loop goes back to state {loop} here, and to {trace.loop} in #meta",
                             where="loop", hint="The file was edited: write it again")  # fmt: skip
        return trace
    description = meta.get("description", "").text()
    first = states[0].fields() if states else {}
    return Trace(
        model=meta.get("source", "").text(),
        constants={name: first[name].data() for name in sorted(params & first.keys())},
        steps=tuple(steps),
        head=(description,) if description else (),
        loop=None if itf.get("loop", None).value is None else itf.field("loop").integer(),
    )


def _state_to_itf(step: Step) -> dict[str, Any]:
    picks: dict[str, Value] = {name: {"tag": "Some", "value": value} for name, value in step.parameters.items()}
    extras = {"actor": step.actor, "notes": list(step.notes), "source": step.source}
    return {
        "#meta": {"index": step.index - 1, "fencepost": extras},
        **{name: _escape(value) for name, value in portable_record(step.state or {}).items()},
        ACTION: step.action,
        PICKS: {name: _escape(value) for name, value in portable_record(picks).items()},
    }


def _step(state: Json, position: int, params: set[str], escaped: bool) -> Step:
    decode = _unescape if escaped else _literal
    fields = state.fields()
    extras = state.get("#meta", {}).get("fencepost", {})
    picks = {name: decode(pick.data()) for name, pick in state.get(PICKS, {}).fields().items()}
    return Step(
        index=position,
        action=state.get(ACTION, "init" if position == 1 else "").text(),
        actor=extras.get("actor", "").text(),
        parameters={name: _picked(pick) for name, pick in picks.items() if not _is_none(pick)},
        state={
            name: decode(field.data())
            for name, field in fields.items()
            if name not in ("#meta", ACTION, PICKS) and name not in params
        },
        notes=extras.get("notes", []).texts(),
        source=extras.get("source", "").text(),
    )


def _picked(pick: Value) -> Value:
    found = case(pick)
    return found[1] if found is not None and found[0] == "Some" else pick


def _is_none(pick: Value) -> bool:
    found = case(pick)
    return found is not None and found[0] == "None"


def _literal(value: Value) -> Value:
    return value


def _escape(value: Value) -> Value:
    """`value` as itf-py can load it; the head of this module says what changes. One-to-one."""
    if isinstance(value, list):
        return [_escape(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = case(value)
    if found is None:
        return {name: _escape(item) for name, item in value.items()}
    tag, payload = found
    if iskeyword(tag.rstrip("_")):
        tag += "_"
    if payload == {"#tup": []}:
        return {"tag": tag, "value": {}}
    return {"tag": tag, "value": {"value": _escape(payload)} if _needs_wrap(payload) else _escape(payload)}


def _needs_wrap(payload: Value) -> bool:
    if not isinstance(payload, dict):
        return False
    special = any(name.startswith("#") for name in payload)
    # {} and {"value": ...} would be read back as a bare case and as a wrapped payload
    return special or case(payload) is not None or payload.keys() <= {"value"}


def _unescape(value: Value) -> Value:
    """Undoes `_escape`."""
    if isinstance(value, list):
        return [_unescape(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = case(value)
    if found is None:
        return {name: _unescape(item) for name, item in value.items()}
    tag, payload = found
    if tag.endswith("_") and iskeyword(tag.rstrip("_")):
        tag = tag[:-1]
    if payload == {}:
        return {"tag": tag, "value": {"#tup": []}}
    if isinstance(payload, dict) and payload.keys() == {"value"}:
        payload = payload["value"]
    return {"tag": tag, "value": _unescape(payload)}
