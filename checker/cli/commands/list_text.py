"""Words of `list`: designs and their models, and all that a model can be given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from checker.cli.output.table import fold, table, width
from checker.lang.inclusion import inclusions_of

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel


def list_models(name: str, models: Sequence[Any]) -> list[str]:
    """A line for each model of a spec."""
    return [line[2:] for line in table([(f"{name}/{m.name}", m.doc) for m in models], (False, False))]


def list_names(model: BoundModel) -> list[str]:
    """Common parts of a spec's models, by name: constants, switches, settings, and all their properties."""
    models = model.spec.models
    groups = {
        "constants": [n for n, v in model.constants.items() if not isinstance(v, bool)],
        "switches": [n for n, v in model.constants.items() if isinstance(v, bool)],
        "settings": list(dict.fromkeys(s for m in models for s in m.settings)),
        "inclusions": [one.name for one in inclusions_of(model.spec)],
        "properties": list(dict.fromkeys(p.name for m in models for p in m.properties)),
    }
    return table([(title, ", ".join(names)) for title, names in groups.items() if names], (False, False))


def describe(model: BoundModel) -> str:
    """Constants, switches, settings, actions and properties of a model."""
    lines = fold(f"{model.name}: {model.model.doc}", width(), "  ")
    docs = model.info.docs if model.info else {}
    switches = {n: v for n, v in model.constants.items() if isinstance(v, bool)}
    constants = {n: v for n, v in model.constants.items() if n not in switches}
    for title, group in (("constants", constants), ("design switches", switches)):
        if group:
            rows = [(name, _value(value), docs.get(name, "")) for name, value in group.items()]
            lines += ["", f"{title} (--set NAME=VALUE):", *table(rows, (False, True, False))]
    if model.model.settings:
        settings = [(s, ", ".join(f"{n}={_value(v)}" for n, v in c.items()) or "as above")
                    for s, c in model.model.settings.items()]  # fmt: skip
        lines += ["", "settings (--setting NAME):", *table(settings, (False, False))]
    lines += ["", "actions:", *table([(a.name, a.doc) for a in model.model.actions], (False, False))]
    if model.model.fairness:
        rows = [(f.name, f.fair, f.doc) for f in model.model.fairness]
        lines += ["", "fairness, beside that of single actions:", *table(rows, (False, False, False))]
    lines += ["", "properties:"]
    rows = [(p.name, p.kind, p.doc) for p in model.model.properties]
    lines += table(rows, (False, False, False)) if rows else ["  none"]
    if model.model.lemmas:
        lines += ["", "lemmas (for proofs):", *table([(d.name, d.doc) for d in model.model.lemmas], (False, False))]
    return "\n".join(lines)


def differences(first: BoundModel, second: BoundModel, settings: tuple[str, str]) -> str:
    """The constants in which two settings of a model differ, what they are in each, and what each is for."""
    docs = first.info.docs if first.info else {}
    rows = [
        (name, _value(value), _value(second.constants[name]), " ".join(docs.get(name, "").split()))
        for name, value in first.constants.items()
        if value != second.constants[name]
    ]
    if not rows:
        return f"{settings[0]} and {settings[1]} are the same"
    return "\n".join(table([("", *settings, ""), *rows], (False, False, False, False)))


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "name", value))
