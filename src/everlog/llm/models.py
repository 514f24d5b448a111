"""The service that gives routes by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeAlias

from everlog.errors import EverlogError
from everlog.kernel import Context, plugin

if TYPE_CHECKING:
    from everlog.llm.seam import Encoder, Route

ProviderFactory: TypeAlias = "Callable[[str], Route]"
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
    """Gives routes by name. Type to look the service up by."""

    def __init__(self) -> None:
        self._providers: dict[str, ProviderFactory] = {}
        self._encoders: dict[str, Encoder] = {}

    def resolve(self, name: str) -> Route:
        """Give a fresh route for `provider/model`; the model's own name may hold more slashes.

        Raises:
            UnknownModel: the name has no provider part, or nobody provides it; the known ones are named.
            ProviderUnavailable: a key or an extra is missing; the text says which, and how to get it.
        """
        provider, slash, model = name.partition("/")
        if not slash or not model:
            raise UnknownModel(name, "name it as provider/model", self.list())
        factory = self._providers.get(provider)
        if factory is None:
            raise UnknownModel(name, f"no provider {provider!r}", self.list())
        return factory(model)

    def add_provider(self, name: str, factory: ProviderFactory) -> Callable[[], None]:
        """Let `name/…` resolve through a factory; give what takes it back.

        Raises:
            ValueError: the name is taken, or holds a slash.
        """
        if name in self._providers or "/" in name:
            raise ValueError(f"provider {name!r}: the name is taken, or holds a slash")
        self._providers[name] = factory

        def undo() -> None:
            if self._providers.get(name) is factory:
                del self._providers[name]

        return undo

    def add_encoder(self, encoder: Encoder) -> Callable[[], None]:
        """Let bodies of this protocol be derived again from a log; give what takes it back.

        Raises:
            ValueError: there is one of that name.
        """
        if encoder.name in self._encoders:
            raise ValueError(f"there is an encoder for {encoder.name!r} already")
        self._encoders[encoder.name] = encoder

        def undo() -> None:
            if self._encoders.get(encoder.name) is encoder:
                del self._encoders[encoder.name]

        return undo

    def encoder(self, name: str) -> Encoder | None:
        """Give the encoder of a protocol by the name that `request/sent` records, or None."""
        return self._encoders.get(name)

    def list(self) -> list[str]:
        """Give the names of the providers, sorted."""
        return sorted(self._providers)


@plugin(provides=(Models,))
async def models(ctx: Context) -> AsyncIterator[None]:
    """Gives models by name; providers add theirs."""
    ctx.provide(Models, Models())
    yield
