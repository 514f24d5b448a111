"""A plugin: an async generator that sets up, yields once, and tears down."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from inspect import getdoc, isasyncgenfunction

from everlog.kernel.context import Context
from everlog.kernel.errors import PluginInvalid

Body = Callable[[Context], AsyncIterator[None]]
"""What a person writes: `async def NAME(ctx: Context) -> AsyncIterator[None]` with one `yield`."""


@dataclass(frozen=True)
class Plugin:
    """What the kernel starts and stops. Made by `@plugin`; can be loaded into any number of kernels."""

    name: str
    """Unique among the plugins of a kernel; also the name of its table, `[plugin.NAME]`."""
    body: Body
    requires: tuple[type[object], ...] = ()
    """Service types that must exist before it starts, and while it runs."""
    provides: tuple[type[object], ...] = ()
    """Service types that exist from its `yield` until it ends."""
    enabled: bool = True
    """Whether it runs without being named in `[plugins] enable`."""
    declares: tuple[object, ...] = ()
    """What others shall know of before it starts, and also when it never does.

    The kernel only sees to it that nothing of it comes late.
    """

    @property
    def summary(self) -> str:
        """The first line of the body's docstring."""
        return (getdoc(self.body) or "").partition("\n")[0]

    @property
    def source(self) -> str:
        """`module:name` of the body."""
        return f"{self.body.__module__}:{self.body.__qualname__}"

    def run(self, ctx: Context) -> AbstractAsyncContextManager[None]:
        """One life of the plugin: entering sets it up, leaving tears it down."""
        return asynccontextmanager(self.body)(ctx)


def plugin(
    *,
    name: str | None = None,
    requires: Iterable[type[object]] = (),
    provides: Iterable[type[object]] = (),
    enabled: bool = True,
    declares: Iterable[object] = (),
) -> Callable[[Body], Plugin]:
    """Make a plugin of an async generator.

        @plugin(requires=(Tools,), provides=(Agents,))
        async def loop(ctx: Context) -> AsyncIterator[None]:
            \"\"\"Runs agents.\"\"\"
            agents = Agents(ctx[Tools])
            ctx.provide(Agents, agents)
            yield
            await agents.close()

    The name is the function's with dashes unless given. Each life runs in a task of its own, so task groups
    and `async with` may stand around the `yield`; an error that comes up through the `yield` ends the
    plugin as failed. `declares` are values that others look up by type without starting the plugin, like event
    types. Raises PluginInvalid when the function is no async generator or requires what it
    provides itself.
    """

    def declare(body: Body) -> Plugin:
        made = Plugin(
            name or getattr(body, "__name__", "plugin").replace("_", "-"),
            body,
            tuple(requires),
            tuple(provides),
            enabled,
            tuple(declares),
        )
        if not isasyncgenfunction(body):
            raise PluginInvalid(made.name, "the function must be `async def` with one `yield`")
        if own := set(made.requires) & set(made.provides):
            raise PluginInvalid(made.name, f"requires {own.pop().__name__}, which it provides itself")
        return made

    return declare
