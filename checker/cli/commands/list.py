"""list: designs and models."""

from __future__ import annotations

import click


@click.command("list")
@click.argument("model", required=False)
def list_(model: str | None) -> int:
    """Designs and models; with MODEL: its constants, switches, actions and properties."""
    from checker.cli.commands.list_text import describe, list_models, list_names
    from checker.lang.loader import designs, find, load, load_spec

    found = [(load_spec(design), None) for design in designs()] if model is None else [find(model)]
    if model is not None and (found[0][1] is not None or len(found[0][0].models) == 1):
        click.echo(describe(load(model)))
        return 0
    for spec, _ in found:
        click.echo("\n".join([*list_models(spec.name, spec.models), *list_names(load(spec.name))]))
    click.echo(f"\nfencepost list {found[0][0].name}/{found[0][0].models[0].name} says what each is for", err=True)
    return 0
