"""What the configuration says where the command line says nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # whoever names a store need not wait for a configuration
    from everlog.kernel.config import Config


TABLES = ("defaults", "plugins", "plugin", "provider", "model", "permissions", "sandbox", "web", "mcp")
"""The tables of everlog.toml; a plugin's own are below `[plugin.NAME]`."""


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[defaults]` of everlog.toml.

    Attributes:
        model: what is asked when a command names no model, as `provider/model`.
        store: where sessions are kept when a command says nothing, as a URL.
    """

    model: str | None = None
    store: str | None = None


def load_config(folder: Path | None = None) -> Config:
    """Read the configuration for a folder, the current one unless another is given. Raises ConfigError."""
    from everlog.kernel.config import Config

    config = Config.load(folder or Path.cwd())
    config.demand_tables(TABLES)
    return config


def store_url(given: str | None, config: Config | None = None) -> str:
    """Give the store's URL: the given one, else the `store` of the user's own configuration, else the default.

    A project's file has no say in it: who wrote it is not known.
    """
    if given:
        return given
    from everlog.store.urls import default_url

    return (config or load_config()).own.section(Defaults, "defaults").store or default_url()


def existing_url(given: str | None, config: Config | None = None) -> str | None:
    """Give the URL of a store that is to be read; None where the default one is to be, and there is none yet.

    Raises StoreError when one was named on the command line, and there is none; UrlInvalid for a wrong option.
    """
    from everlog.store.urls import demand_options, is_there

    url = store_url(given, config)
    if is_there(url):
        return url
    demand_options(url)
    if given and not _from_environment("store"):
        from everlog.store.errors import StoreError

        raise StoreError(f"there is no store at {given}; `everlog run --store URL` begins one")
    return None


def _from_environment(option: str) -> bool:
    """Tell whether an option of the running command was given by its variable, which holds for every command."""
    import click

    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def default_model(config: Config) -> str | None:
    """Give the model that is asked unless a command names one: EVERLOG_MODEL, else the configuration's."""
    return os.environ.get("EVERLOG_MODEL") or config.section(Defaults, "defaults").model
