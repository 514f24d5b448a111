"""`everlog auth`: the keys of providers, in the system's keyring. No command shows one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from everlog.cli.faults import UsageFault
from everlog.cli.options import Command, json_option
from everlog.cli.output import write_json, write_table
from everlog.cli.settings import load_config
from everlog.llm.catalogue import Catalogue
from everlog.llm.keys import delete_from_keyring, find_key, key_variable, write_keyring


@click.group("auth", no_args_is_help=False)
def command() -> None:
    """Keep the keys of providers in the system's keyring.

    A key in the environment wins over one in the keyring. Keys are never written to a session, and are removed
    from the environment of the commands that tools run.
    """


@dataclass(frozen=True)
class Row:
    """One provider.

    Attributes:
        provider: its name.
        key_env: the environment variable that holds its key.
        needs_key: whether it can do without.
        source: where a key was found, `environment` or `keyring`; None when there is none.
    """

    provider: str
    key_env: str
    needs_key: bool
    source: str | None


@command.command("list", cls=Command)
@json_option
def list_keys(as_json: bool) -> None:
    """Say for each provider where its key comes from. Shows no key."""
    rows = [_row(name, known.key_env, known.needs_key) for name, known in _catalogue().providers.items()]
    if as_json:
        write_json(rows)
        return
    write_table([_cells(row) for row in rows], ("PROVIDER", "KEY", "VARIABLE"))


@command.command("set", cls=Command)
@click.argument("provider")
def set_key(provider: str) -> None:
    """Have the keyring hold a provider's key. It is asked for unseen, or read from a pipe."""
    _known(provider)
    key = (click.prompt(f"Key of {provider}", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()).strip()
    if not key:
        raise UsageFault("no key was given; type it when asked, or pipe it in")
    write_keyring(provider, key)
    click.echo(f"the keyring holds the key of {provider}")


@command.command("remove", cls=Command)
@click.argument("provider")
def remove_key(provider: str) -> None:
    """Have the keyring forget a provider's key."""
    held = delete_from_keyring(provider)
    click.echo(f"the keyring holds no key of {provider}" + (" any more" if held else ""))


def _catalogue() -> Catalogue:
    return Catalogue.load(load_config())


def _known(provider: str) -> None:
    known = _catalogue().providers
    if provider not in known:
        raise UsageFault(f"no provider {provider!r}; known: {', '.join(sorted(known))}")


def _row(provider: str, key_env: str, needs_key: bool) -> Row:
    variable = key_variable(provider, key_env)
    return Row(provider, variable, needs_key, find_key(provider, variable)[1])


def _cells(row: Row) -> Sequence[str]:
    return row.provider, row.source or ("missing" if row.needs_key else "none needed"), row.key_env
