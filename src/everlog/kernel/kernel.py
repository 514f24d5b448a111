"""The kernel: starts each plugin when what it requires exists, and stops it when that goes."""

import asyncio
import logging
from collections.abc import Iterable
from contextvars import Context as Variables
from contextvars import copy_context
from itertools import count
from types import TracebackType
from typing import Self, TypeVar

from everlog.errors import EverlogError
from everlog.kernel.config import Config
from everlog.kernel.context import Context
from everlog.kernel.errors import PluginInvalid, ServiceMissing
from everlog.kernel.life import Life, Start, Status, Stop, missing, next_step
from everlog.kernel.plugins import Plugin
from everlog.kernel.scope import Scope
from everlog.kernel.states import PluginState, reason_of, state_of, why_missing

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Kernel:
    """Runs plugins, from `async with` to its end.

        async with Kernel([tools, loop]) as kernel:
            agents = kernel[Agents]

    Guarantees: a plugin's set-up begins after those that it requires are active, and its tear-down ends
    before theirs begin; each is awaited, one at a time, in its own task. A plugin that fails is shown as
    failed and takes down only those that require it. Leaving the block tears everything down, also when it
    is cancelled: a first cancellation waits for the tear-downs and is then raised, a second one cancels
    those too. Not guaranteed: an end to a tear-down that hangs; safety from other threads.
    """

    def __init__(
        self,
        plugins: Iterable[Plugin] = (),
        config: Config | None = None,
        absent: Iterable[PluginState] = (),
    ) -> None:
        """Hold the plugins until the block is entered.

        `absent` are known plugins that are not loaded, to be listed with the others (see `discover`).
        """
        self.config = config or Config()
        """The configuration that plugins read."""
        self.root = Scope("everlog")
        """The outermost scope: what it holds is seen from everywhere."""
        self._initial = tuple(plugins)
        self._absent = tuple(absent)
        self._lives: list[Life] = []
        self._ranks = count()
        self._starts = count(1)
        self._idle = asyncio.Event()
        self._variables: Variables | None = None

    async def __aenter__(self) -> Self:
        self._variables = copy_context()
        try:
            await self.load(*self._initial)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._close()

    def __getitem__(self, service: type[T]) -> T:
        """The service of a type. Raises ServiceMissing, which says where the chain of requirements breaks."""
        if service not in self.root:
            raise ServiceMissing(service, why_missing(service, self._lives, self._absent))
        return self.root[service]

    def __contains__(self, service: type[object]) -> bool:
        return service in self.root

    async def load(self, *plugins: Plugin) -> None:
        """Add plugins and return when all that can start has started. What failed is told by `states`.

        What plugins declare must be known before anything starts, so a kernel that has started takes in none that
        declares anything new.

        Raises PluginInvalid, and adds none, when a name is taken, or one declares something new.
        """
        names = {life.plugin.name: life.plugin.source for life in self._lives}
        for plugin in plugins:
            if plugin.name in names:
                raise PluginInvalid(plugin.name, f"its name is taken by {names[plugin.name]}")
            names[plugin.name] = plugin.source
            self._refuse_what_comes_late(plugin)
        self._lives += [Life(plugin, next(self._ranks)) for plugin in plugins]
        self._advance()
        await self.settled()

    def _refuse_what_comes_late(self, plugin: Plugin) -> None:
        """Refuse a plugin that declares what none of those did that the kernel began with."""
        known = [value for initial in self._initial for value in initial.declares]
        new = [value for value in plugin.declares if value not in known]
        if new:
            told = getattr(new[0], "name", None) or repr(new[0])
            raise PluginInvalid(
                plugin.name,
                f"declares {told}, which must be known before anything starts: give it to the kernel, or the harness,"
                " from the beginning",
            )

    async def unload(self, name: str) -> None:
        """Stop a plugin, after all that require it, and forget it. Those wait until the service returns.

        Returns when everything stands still again. Raises PluginInvalid when there is no such plugin.
        """
        found = [life for life in self._lives if life.plugin.name == name and life.wanted]
        if not found:
            raise PluginInvalid(name, "is not loaded")
        found[0].wanted = False
        self._advance()
        await self.settled()

    async def settled(self) -> None:
        """Return when no plugin is starting or stopping."""
        await self._idle.wait()

    def states(self) -> list[PluginState]:
        """Every plugin's state: the loaded ones in the order of loading, then the absent ones."""
        return [*(state_of(life, self._lives, self._absent) for life in self._lives), *self._absent]

    # The state machine: every change calls _advance, which begins whatever is due and never waits.

    def _advance(self) -> None:
        for life in self._lives:
            if life.status is Status.FAILED and missing(life, self._lives):
                life.status = Status.PENDING  # it gets another try when its requirements return
        while step := next_step(self._lives):
            match step:
                case Start(life):
                    self._start(life)
                case Stop(life):
                    self._stop(life)
        self._lives = [life for life in self._lives if life.wanted or life.running]
        if any(life.in_transition for life in self._lives):
            self._idle.clear()
        else:
            self._idle.set()

    def _start(self, life: Life) -> None:
        life.status, life.failure, life.since = Status.STARTING, "", next(self._starts)
        life.stopping.clear()
        plugin = life.plugin
        required = {service: self.root[service] for service in plugin.requires}
        ctx = Context(plugin.name, self.root, life.rank, self.config, required, plugin.provides)
        variables = self._variables.copy() if self._variables else None
        life.task = asyncio.create_task(self._live(life, ctx), name=f"plugin {plugin.name}", context=variables)

    def _stop(self, life: Life) -> None:
        setting_up = life.status is Status.STARTING
        life.status = Status.STOPPING
        life.stopping.set()
        if setting_up and life.task:
            life.task.cancel()

    async def _live(self, life: Life, ctx: Context) -> None:
        """One life of a plugin, from set-up to tear-down, in one task."""
        error: BaseException | None = None
        try:
            async with life.plugin.run(ctx):
                ctx.publish()
                self._set_up(life)
                try:
                    await life.stopping.wait()
                finally:
                    self._leaves(life)
                    await ctx.close()
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
        finally:
            try:
                await ctx.close()  # after a set-up that failed
            finally:
                self._ended(life, error)

    def _set_up(self, life: Life) -> None:
        if life.status is Status.STARTING:
            life.status = Status.ACTIVE
            self._advance()

    def _leaves(self, life: Life) -> None:
        if life.status is Status.ACTIVE:  # not told to stop: it broke down, and nothing may start on it any more
            life.status = Status.STOPPING
            self._advance()

    def _ended(self, life: Life, error: BaseException | None) -> None:
        name = life.plugin.name
        if not life.stopping.is_set():
            error = error or PluginInvalid(name, "ended by itself")
            life.status, life.failure = Status.FAILED, reason_of(error)
            logger.error("plugin %s failed: %s", name, life.failure, exc_info=_unless_told(error))
        else:
            life.status = Status.PENDING
            if isinstance(error, Exception):
                told = reason_of(error)
                logger.error("plugin %s did not stop cleanly: %s", name, told, exc_info=_unless_told(error))
        life.task = None
        self._advance()

    async def _close(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        for life in self._lives:
            life.wanted = False
        self._advance()
        while self._lives:
            try:
                await self.settled()
            except asyncio.CancelledError as error:
                if cancelled:
                    self._cancel_tear_downs()
                cancelled = error
        await self.root.close()
        if cancelled:
            raise cancelled

    def _cancel_tear_downs(self) -> None:
        for life in self._lives:
            if life.task and life.in_transition:
                life.task.cancel()


def _unless_told(error: BaseException) -> BaseException | None:
    """An error whose traceback is worth a look: one of Everlog's own says all in its line."""
    return None if isinstance(error, EverlogError) else error
