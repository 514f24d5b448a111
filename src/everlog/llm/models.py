"""The service that gives routes by name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from everlog.errors import EverlogError
from everlog.kernel import Config, Context, plugin
from everlog.llm.adapter import Adapter, Encoder, WireProtocol
from everlog.llm.catalogue import Catalogue, ModelFacts, Provider, in_camel_case
from everlog.llm.guard import Guarded
from everlog.llm.keys import find_key, key_variable
from everlog.llm.limits import RateLimits
from everlog.llm.route import Route

ProviderFactory: TypeAlias = Callable[[str], Route]
"""Makes the route for a model's name as the provider knows it. Raises `UnknownModel` or `ProviderUnavailable`."""


class UnknownModel(EverlogError):
    """No route has this name.

    Attributes:
        name: what was asked for.
        known: the names that would do: providers, or models of the provider.
    """

    def __init__(self, name: str, why: str, known: list[str]) -> None:
        super().__init__(f"model {name!r}: {why}; known: {', '.join(known) or 'none'}")
        self.name = name
        self.known = known


class ProviderUnavailable(EverlogError):
    """The provider is known and cannot be used as things are: a key or an extra is missing. The text says which."""


class Models:
    """Gives routes by name. Type to look the service up by.

    A name is `provider/model`. Providers are those that plugins add, and the endpoints of the catalogue whose
    protocol a plugin brings.
    """

    def __init__(self, catalogue: Catalogue | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.catalogue = catalogue or Catalogue.load(Config())
        """What is known of providers and models."""
        self._environ = os.environ if environ is None else environ
        self._factories: dict[str, ProviderFactory] = {}
        self._encoders: dict[str, Encoder] = {}
        self._protocols: dict[str, WireProtocol] = {}
        self._connected: dict[str, tuple[str, Adapter]] = {}
        self._limits: dict[str, RateLimits] = {}
        self._keys: dict[str, str | None] = {}

    async def find_key(self, name: str) -> None:
        """Have the key of `provider/model` at hand for a `resolve` that follows, without blocking the event loop.

        The system's keyring may take its time, or ask the person. A name that nobody provides is left to `resolve`.
        """
        provider, _, _ = name.partition("/")
        known = self.catalogue.providers.get(provider)
        if known is None or provider in self._factories or provider in self._connected:
            return
        variable = key_variable(provider, known.key_env)
        self._keys[provider], _ = await asyncio.to_thread(find_key, provider, variable, self._environ)

    def resolve(self, name: str, options: Mapping[str, Any] | None = None) -> Route:
        """Give a route for `provider/model`; the model's own name may hold more slashes.

        `options` go into the configuration of each request, over those of the catalogue.

        Raises:
            UnknownModel: the name has no provider part, or nobody provides it; the known ones are named.
            ProviderUnavailable: a key or an extra is missing; the text says which, and how to get it.
        """
        provider, slash, model = name.partition("/")
        if not slash or not model:
            raise UnknownModel(name, "name it as provider/model", self.list())
        if provider in self._factories:
            return _with_options(self._factories[provider](model), options or {})
        known = self.catalogue.providers.get(provider)
        if known is None:
            raise UnknownModel(name, f"no provider {provider!r}", self.list())
        return self._route(provider, known, model, options or {})

    def _route(self, provider: str, known: Provider, model: str, options: Mapping[str, Any]) -> Route:
        protocol = self._protocols.get(known.protocol)
        if protocol is None:
            speaks = ", ".join(sorted(self._protocols)) or "none"
            raise ProviderUnavailable(
                f"provider {provider} speaks {known.protocol}, which no plugin brings (there are: {speaks}); "
                "see `everlog plugins`"
            )
        facts = self.catalogue.facts(provider, model)
        config = {"provider": provider, "model": model, **_shaping(known, facts), **options}
        defaults = protocol.defaults(config, facts)
        return Route(
            adapter=self._adapter(provider, known, protocol),
            provider=provider,
            model=model,
            config={**config, **defaults},
            context_window=facts.context_window,
            adapter_defaults=dict.fromkeys(defaults, True) or None,
        )

    def _adapter(self, provider: str, known: Provider, protocol: WireProtocol) -> Adapter:
        """Give the adapter of an endpoint; all routes to it share one, its connections and its rate limits."""
        held = self._connected.get(provider)
        if held is not None:
            return held[1]
        variable = key_variable(provider, known.key_env)
        found = provider in self._keys
        key = self._keys.pop(provider) if found else find_key(provider, variable, self._environ)[0]
        if key is None and known.needs_key:
            raise ProviderUnavailable(
                f"provider {provider} has no key: set {variable}, or run: everlog auth set {provider}"
            )
        if not known.base_url:
            raise ProviderUnavailable(f"provider {provider} has no base_url: add it to [provider.{provider}]")
        headers = {name: self._header(provider, name, value) for name, value in known.headers.items()}
        limits = self._limits.setdefault(provider, RateLimits(known.max_concurrent, known.requests_per_minute))
        adapter = Guarded(protocol.connect(provider, known, key, headers), limits, known.idle_timeout)
        self._connected[provider] = (known.protocol, adapter)
        return adapter

    def _header(self, provider: str, name: str, value: str) -> str:
        prefix, _, variable = value.partition(":")
        if prefix != "env":
            return value
        if not self._environ.get(variable):
            raise ProviderUnavailable(f"provider {provider}: header {name} comes from {variable}, which is not set")
        return self._environ[variable]

    def add_provider(self, name: str, factory: ProviderFactory) -> Callable[[], None]:
        """Let `name/…` resolve through a factory; give what takes it back.

        Raises:
            ValueError: the name is taken, or holds a slash.
        """
        if name in self._factories or "/" in name:
            raise ValueError(f"provider {name!r}: the name is taken, or holds a slash")
        return _put(self._factories, name, factory)

    def add_encoder(self, encoder: Encoder) -> Callable[[], None]:
        """Let bodies of this protocol be derived again from a log; give what takes it back.

        Raises:
            ValueError: there is one of that name.
        """
        if encoder.name in self._encoders:
            raise ValueError(f"there is an encoder for {encoder.name!r} already")
        return _put(self._encoders, encoder.name, encoder)

    def add_protocol(self, protocol: WireProtocol) -> Callable[[], Awaitable[None]]:
        """Let all endpoints of this protocol resolve; give what takes it back and closes their connections.

        Raises:
            ValueError: there is one of that name.
        """
        undo_encoder = self.add_encoder(protocol.encoder)
        undo_protocol = _put(self._protocols, protocol.encoder.name, protocol)

        async def undo() -> None:
            undo_protocol()
            undo_encoder()
            for provider, (name, adapter) in list(self._connected.items()):
                if name == protocol.encoder.name:
                    del self._connected[provider]
                    await adapter.aclose()

        return undo

    def encoder(self, name: str) -> Encoder | None:
        """Give the encoder of a protocol by the name that `request/sent` records, or None."""
        return self._encoders.get(name)

    def list(self) -> list[str]:
        """Give the names of the providers, sorted."""
        spoken = (name for name, known in self.catalogue.providers.items() if known.protocol in self._protocols)
        return sorted({*self._factories, *spoken})


def key_variables(config: Config) -> frozenset[str]:
    """Give the environment variables that hold keys, or headers that may be keys: what no command may see.

    Raises:
        ConfigError: a value of `[provider]` or `[model]` is wrong.
    """
    catalogue = Catalogue.load(config)
    keys = {key_variable(name, known.key_env) for name, known in catalogue.providers.items()}
    values = (value for known in catalogue.providers.values() for value in known.headers.values())
    return frozenset(keys | {value.removeprefix("env:") for value in values if value.startswith("env:")})


def _shaping(known: Provider, facts: ModelFacts) -> dict[str, Any]:
    """Give the part of a request's configuration that the catalogue knows."""
    dialect = in_camel_case({**known.dialect, **facts.dialect})
    return {"dialect": dialect, **in_camel_case({**known.options, **facts.options})}


def _with_options(route: Route, options: Mapping[str, Any]) -> Route:
    return replace(route, config={**route.config, **options}) if options else route


def _put(table: dict[str, Any], name: str, value: object) -> Callable[[], None]:
    table[name] = value

    def undo() -> None:
        if table.get(name) is value:
            del table[name]

    return undo


@plugin(provides=(Models,))
async def models(ctx: Context) -> AsyncIterator[None]:
    """Gives models by name; providers add theirs."""
    ctx.provide(Models, Models(Catalogue.load(ctx.config)))
    yield
