"""What is known of providers and models: data that ships with Everlog, and over it what the configuration says.

Both have the same form. In everlog.toml, a provider of one's own is three lines:

    [provider.lab]
    base_url = "http://10.0.0.5:8000/v1"
    key_env = "LAB_KEY"
    [model."lab/qwen3-coder"]
    context_window = 262_144

Options and dialects are written in snake case; a request's configuration has them in camel case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from everlog.kernel import Config, ConfigError
from everlog.kernel.config import user_config_file
from everlog.session.payloads import Usage

_Money: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost, in the currency of one's choice.

    Attributes:
        input: read anew.
        output: written.
        cache_read: served from the provider's cache; as `input` when nothing is said.
        cache_write: put into it; as `input` when nothing is said.
    """

    input: _Money = 0.0
    output: _Money = 0.0
    cache_read: _Money | None = None
    cache_write: _Money | None = None

    def of(self, usage: Usage) -> float:
        """Give what a request cost that used so many tokens."""
        read, written = (self.input if said is None else said for said in (self.cache_read, self.cache_write))
        million = usage.input_tokens * self.input + usage.output_tokens * self.output
        million += usage.cache_read_tokens * read + usage.cache_write_tokens * written
        return million / 1_000_000


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One endpoint: the table `[provider.NAME]`.

    Attributes:
        base_url: where its API begins, as its protocol's SDK wants it.
        protocol: which protocol it speaks.
        key_env: the environment variable that holds its key; NAME_API_KEY when nothing is said.
        needs_key: whether a missing key is an error.
        headers: sent with each request and never stored; a value `env:NAME` comes from the environment.
        options: what goes into the configuration of each request, like `temperature` or `max_tokens`.
        dialect: how this server differs from others of its protocol.
        idle_timeout: after how many seconds without a piece of an answer a request is given up.
        max_concurrent: how many requests may run at once in this process; 0 for any number.
        requests_per_minute: how many may begin in a minute in this process; 0 for any number.
    """

    base_url: str = ""
    protocol: str = "openai-chat"
    key_env: str = ""
    needs_key: bool = True
    headers: dict[str, str] = {}
    options: dict[str, Any] = {}
    dialect: dict[str, Any] = {}
    idle_timeout: float = 300.0
    max_concurrent: int = 0
    requests_per_minute: float = 0.0


class ModelFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one model: the table `[model."PROVIDER/NAME"]`.

    Attributes:
        context_window: its capacity in tokens.
        max_output: the most tokens that an answer can have.
        price: what its tokens cost.
        options: like those of the provider, and over them.
        dialect: like that of the provider, and over it.
    """

    context_window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    options: dict[str, Any] = {}
    dialect: dict[str, Any] = {}


class Catalogue:
    """Providers and models by name."""

    def __init__(self, providers: Mapping[str, Provider], models: Mapping[str, ModelFacts]) -> None:
        self.providers = dict(providers)
        self.models = dict(models)

    @classmethod
    def load(cls, config: Config) -> Catalogue:
        """Read what ships, and over it `[provider]` and `[model]` of the configuration.

        Raises:
            ConfigError: a value is wrong; or a project's file defines a provider, which would get the user's keys, or
                a price, which would get round the user's cost limit.
        """
        for name in config.brought.section(dict[str, Any], "provider"):
            problem = f"provider.{name}: a project may not say where keys and prompts go; move it to {_own_file()}"
            raise ConfigError(config.brought.origin("provider", name), None, problem)
        brought = config.brought.section(dict[str, Any], "model")
        for name, table in brought.items():
            if isinstance(table, dict) and "price" in table:
                problem = f"model.{name}.price: a project may not say what models cost; move it to {_own_file()}"
                raise ConfigError(config.brought.origin("model", name, "price"), None, problem)
        shipped = Config.parse((files("everlog.llm") / "catalogue.toml").read_text(encoding="utf-8"))
        models = _tables(shipped, config, "model", ModelFacts)
        own = cls({}, _tables(shipped, config.own, "model", ModelFacts))
        for name in models.keys() & brought.keys():  # an entry of a project hides no price of a shorter name
            models[name] = replace(models[name], price=own.facts(*_parted(name)).price)
        return cls(_tables(shipped, config, "provider", Provider), models)

    def facts(self, provider: str, model: str) -> ModelFacts:
        """Give what is known of a model: its own entry, or the one whose name is the longest beginning of its name."""
        name = f"{provider}/{model}"
        known = [entry for entry in self.models if name == entry or re.match(rf"{re.escape(entry)}[-:@]", name)]
        return self.models[max(known, key=len)] if known else ModelFacts()

    def models_of(self, provider: str) -> Iterator[str]:
        """Give the names of a provider's models, without the provider."""
        return (name.partition("/")[2] for name in self.models if name.partition("/")[0] == provider)


def _tables(shipped: Config, config: Config, key: str, shape: type[Any]) -> dict[str, Any]:
    """Give the entries of both configurations, the latter's values over the former's."""
    for name in config.section(dict[str, Any], key):
        config.section(shape, key, name)  # complains with file and line, which the merged values no longer have
    merged: dict[str, dict[str, Any]] = shipped.section(dict[str, dict[str, Any]], key)
    for name, table in config.section(dict[str, dict[str, Any]], key).items():
        merged[name] = _laid_over(merged.get(name, {}), table)
    return {name: msgspec.convert(table, shape) for name, table in merged.items()}


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = {key for key in above if isinstance(above[key], dict) and isinstance(below.get(key), dict)}
    return {**below, **{key: _laid_over(below[key], above[key]) if key in both else above[key] for key in above}}


def _parted(name: str) -> tuple[str, str]:
    provider, _, model = name.partition("/")
    return provider, model


def _own_file() -> str:
    return str(user_config_file())


def in_camel_case(table: Mapping[str, Any]) -> dict[str, Any]:
    """Give a table's own keys in camel case; what stands below them is left as it is."""
    return {re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), key): value for key, value in table.items()}
