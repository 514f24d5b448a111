"""`everlog models`: what the catalogue knows of providers and models, and which can be used as things are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from everlog.cli.faults import UsageFault
from everlog.cli.options import declare, json_option
from everlog.cli.output import write_json, write_table
from everlog.cli.settings import load_config
from everlog.llm.catalogue import Catalogue, Price, Provider
from everlog.llm.keys import find_key, key_variable

ANY = "…"
"""In the place of a model's name: the provider has models that the catalogue does not know."""


@dataclass(frozen=True)
class Row:
    """One model, or a provider of which no model is known.

    Attributes:
        name: what `--model` takes.
        context_window: its capacity in tokens, when it is known.
        max_output: the most tokens that an answer can have, when it is known.
        price: what a million tokens cost, when the configuration says.
        protocol: what its provider speaks.
        key_env: the environment variable that holds the provider's key.
        key: where a key was found, `environment` or `keyring`; `none needed`; or `missing`.
    """

    name: str
    context_window: int | None
    max_output: int | None
    price: Price | None
    protocol: str
    key_env: str
    key: str


@declare("models")
@click.argument("provider", required=False, metavar="[PROVIDER]")
@json_option
def command(provider: str | None, as_json: bool) -> None:
    """List the models that are known, and where their keys come from.

    With PROVIDER, those of one provider. Any other model of a provider can be named too. What is known of models
    and providers can be changed and added to with [model."PROVIDER/NAME"] and [provider.NAME] in everlog.toml.
    Asks nobody.
    """
    catalogue = Catalogue.load(load_config())
    if provider is not None and provider not in catalogue.providers:
        raise UsageFault(f"no provider {provider!r}; known: {', '.join(sorted(catalogue.providers))}")
    rows = [row for name in catalogue.providers if provider in (None, name) for row in _rows(catalogue, name)]
    if as_json:
        write_json(rows)
        return
    write_table([_cells(row) for row in rows], ("MODEL", "WINDOW", "OUTPUT", "PRICE", "KEY"))


def _rows(catalogue: Catalogue, provider: str) -> Iterator[Row]:
    known = catalogue.providers[provider]
    variable = key_variable(provider, known.key_env)
    key = _key(provider, known, variable)
    for model in [*catalogue.models_of(provider), ANY]:
        facts = catalogue.facts(provider, model)
        name = f"{provider}/{model}"
        yield Row(name, facts.context_window, facts.max_output, facts.price, known.protocol, variable, key)


def _key(provider: str, known: Provider, variable: str) -> str:
    source = find_key(provider, variable)[1]
    return source or ("missing" if known.needs_key else "none needed")


def _cells(row: Row) -> tuple[str, ...]:
    price = "" if row.price is None else f"{row.price.input:g} in, {row.price.output:g} out"
    key = f"missing: {row.key_env}" if row.key == "missing" else row.key
    return row.name, _tokens(row.context_window), _tokens(row.max_output), price, key


def _tokens(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
