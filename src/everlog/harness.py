"""Everything put together for a program: a kernel with the plugins that are found, and a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from everlog.agent.seam import Agents
from everlog.declared import with_vocabulary
from everlog.errors import EverlogError
from everlog.kernel import Config, Context, Discovery, Kernel, Plugin, Status, discover, plugin
from everlog.session import Vocabulary
from everlog.store import open_store
from everlog.store.seam import Store

_NEEDED = ("agents", "loop")
_STORE = "store"
"""The plugin that opens the store. Why it failed is said alone: all others merely wait for it."""


class HarnessIncomplete(EverlogError):
    """A plugin that every agent needs did not start; the text says which, and what it waits for."""


class Harness:
    """The parts of Everlog, from `async with` to its end, which ends agents first and the store last.

        async with Harness(store="memory:") as harness:
            agent = await harness.agents.create("script/answers.yaml", cwd=folder)
            agent.followup("Make the tests pass.")
            await agent.when_idle()

    It belongs to the event loop that entered it, and to that one's thread.
    """

    def __init__(
        self,
        config: Config | None = None,
        store: str | None = None,
        plugins: Iterable[Plugin] = (),
        cwd: str | Path | None = None,
    ) -> None:
        """Say what to put together; nothing is opened yet.

        `store` is a URL; without one it is the store in the user's data folder. `plugins` are loaded besides those
        that are found, and before them: one with the name of a found one, or that provides what it does, takes its
        place. What the plugins declare is known to all sessions. Without a `config`, `everlog.toml` is read from
        the user's folder and from `cwd`; without that either, from nowhere.
        """
        self._config = config
        self._cwd = None if cwd is None else Path(cwd)
        self._given = list(plugins)
        if not any(Store in given.provides for given in self._given):
            self._given.append(_store_at(store))
        self._kernel: Kernel | None = None

    async def __aenter__(self) -> Self:
        kernel = self.composed()
        await kernel.__aenter__()
        self._kernel = kernel
        try:
            self._check(kernel)
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        kernel, self._kernel = self.kernel, None
        await kernel.__aexit__(kind, error, at)

    def composed(self) -> Kernel:
        """Give a kernel of all parts, not yet started, for who wants to see how they stand: nothing is demanded of it.

        Raises ConfigError.
        """
        config = self._config
        if config is None:
            config = Config() if self._cwd is None else Config.load(self._cwd)
        found = discover(config)
        names = {given.name for given in self._given}
        provided = {service for given in self._given for service in given.provides}
        others = [p for p in found.plugins if p.name not in names and provided.isdisjoint(p.provides)]
        found, words = with_vocabulary(Discovery((*self._given, *others), found.absent))
        return Kernel([_knowing(words), *found.plugins], config, found.absent)

    def _check(self, kernel: Kernel) -> None:
        for state in kernel.states():
            if state.name == _STORE and state.status is Status.FAILED:
                raise HarnessIncomplete(state.reason)
            if state.name in _NEEDED and state.status is not Status.ACTIVE:
                raise HarnessIncomplete(f"plugin {state.name}: {state.reason}")

    @property
    def kernel(self) -> Kernel:
        """Give the kernel, with its services and plugin states. Raises RuntimeError outside the block."""
        if self._kernel is None:
            raise RuntimeError("a harness is used within `async with`")
        return self._kernel

    @property
    def agents(self) -> Agents:
        """Give the service that makes agents, and knows those that live."""
        return self.kernel[Agents]

    @property
    def store(self) -> Store:
        """Give the store that the sessions are in."""
        return self.kernel[Store]


def _knowing(words: Vocabulary) -> Plugin:
    @plugin(name="vocabulary", provides=(Vocabulary,))
    async def vocabulary(ctx: Context) -> AsyncIterator[None]:
        """Knows the event types, rules and projections: the core's, and those that plugins declare."""
        ctx.provide(Vocabulary, words)
        yield

    return vocabulary


def _store_at(url: str | None) -> Plugin:
    @plugin(name=_STORE, requires=(Vocabulary,), provides=(Store,))
    async def store(ctx: Context) -> AsyncIterator[None]:
        """Keeps sessions."""
        async with open_store(url, vocabulary=ctx[Vocabulary]) as opened:
            ctx.provide(Store, opened)
            yield

    return store
