"""Read by mypy, never run: services and hooks keep their types."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, assert_type

from everlog.kernel import Context, Emit, Kernel, Parallel, Registry, Scope, Serial, Waterfall, plugin
from everlog.kernel.plugins import Plugin


class Tools:
    pass


class Paths(Protocol):
    def home(self) -> str: ...


told = Emit[[str, int]]("test.told")
ready = Parallel[[str]]("test.ready")
allowed = Serial[[str], bool]("test.allowed")
asked = Waterfall[[str], int]("test.asked")
names = Registry[str]("names")


@plugin(requires=(Tools, Paths))
async def loop(ctx: Context) -> AsyncIterator[None]:
    assert_type(ctx[Tools], Tools)
    assert_type(ctx[Paths], Paths)
    ctx.provide(Tools, Tools())
    yield


def observe(text: str, number: int) -> None: ...


async def prepare(text: str) -> None: ...


async def judge(text: str) -> bool | None: ...


async def around(next: Callable[[str], Awaitable[int]], text: str) -> int:
    return await next(text) + 1


async def inner(text: str) -> int:
    return len(text)


async def hooks(scope: Scope, kernel: Kernel) -> None:
    assert_type(loop, Plugin)
    assert_type(kernel[Tools], Tools)
    assert_type(names.seen_from(scope), list[str])
    scope.on(told, observe)
    scope.on(ready, prepare)
    scope.on(allowed, judge)
    scope.on(asked, around)
    scope.on(told, judge)  # type: ignore[misc]
    scope.on(asked, inner)  # type: ignore[misc]
    told.emit(scope, "a", 1)
    told.emit(scope, "a")  # type: ignore[call-arg]
    await ready.gather(scope, "a")
    assert_type(await allowed.ask(scope, "a"), bool | None)
    assert_type(await asked.around(scope, inner, "a"), int)
    await asked.around(scope, judge, "a")  # type: ignore[arg-type]
