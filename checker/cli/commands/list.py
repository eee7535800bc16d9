"""list: designs and models."""

from __future__ import annotations

import click


@click.command("list")
@click.argument("model", required=False)
@click.option("--setting", metavar="NAME", help="With --against: a named setting of MODEL, or of a design's models.")
@click.option("--against", metavar="NAME", help="Show what differs between this setting and that of --setting.")
def list_(model: str | None, setting: str | None, against: str | None) -> int:
    """Designs and models; with MODEL: its constants, switches, actions and properties, or how two settings differ."""
    from checker.cli.commands.list_text import describe, differences, list_models, list_names
    from checker.lang.loader import designs, find, load, load_spec

    if setting is not None or against is not None:
        if model is None or setting is None or against is None:
            raise click.UsageError("two settings are compared with MODEL, --setting and --against")
        click.echo(differences(load(model, {}, setting), load(model, {}, against), (setting, against)))
        return 0
    found = [(load_spec(design), None) for design in designs()] if model is None else [find(model)]
    if model is not None and (found[0][1] is not None or len(found[0][0].models) == 1):
        click.echo(describe(load(model)))
        return 0
    for spec, _ in found:
        click.echo("\n".join([*list_models(spec.name, spec.models), *list_names(load(spec.name))]))
    click.echo(f"\nfencepost list {found[0][0].name}/{found[0][0].models[0].name} says what each is for", err=True)
    return 0
