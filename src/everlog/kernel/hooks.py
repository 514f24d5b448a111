"""Hooks: typed points at which plugins take part, each with one of four modes.

    tool_finished = Emit[[ToolCall]]("tools.finished")
    \"\"\"A tool call has its result.\"\"\"

A hook is a value without state, made once in the module that owns it. Listeners are registered in a scope
(`scope.on(hook, listener)`) and are seen from there and below. The four modes:

| mode | called as | each listener | answer |
|---|---|---|---|
| `Emit` | `hook.emit(scope, ...)` | a plain function, called in order | none |
| `Parallel` | `await hook.gather(scope, ...)` | awaited together with the others | none |
| `Serial` | `await hook.ask(scope, ...)` | awaited in order | the first not None |
| `Waterfall` | `await hook.around(scope, inner, ...)` | calls `next` or answers | of the outermost |

A listener that raises is logged and contained: the others run as if it were not there. Cancellation of the
caller always passes. What "as if it were not there" means where there is an answer is told at each mode.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from everlog.kernel.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L")

logger = logging.getLogger(__name__)


class Hook(Generic[L]):
    """What the four modes share. `L` is the type of a listener."""

    def __init__(self, name: str) -> None:
        self.name = name
        """`room.event`, for logs."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _listeners(self, scope: Scope) -> list[L]:
        return cast(list[L], scope._seen(self))

    def _log(self, listener: object) -> None:
        name = getattr(listener, "__qualname__", repr(listener))
        logger.exception("hook %s: listener %s raised", self.name, name)


class Emit(Hook[Callable[P, None]], Generic[P]):
    """Observe: listeners are plain functions, called in order; nothing comes back."""

    def emit(self, scope: Scope, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Tell every listener that is seen from `scope`."""
        for listener in self._listeners(scope):
            try:
                listener(*args, **kwargs)
            except Exception:
                self._log(listener)


class Parallel(Hook[Callable[P, Awaitable[None]]], Generic[P]):
    """Await all: listeners run at the same time; nothing comes back."""

    async def gather(self, scope: Scope, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run every listener that is seen from `scope`, and return when all have ended.

        When the caller is cancelled, the listeners are, and are awaited.
        """

        async def contained(listener: Callable[P, Awaitable[None]]) -> None:
            try:
                await listener(*args, **kwargs)
            except Exception:
                self._log(listener)

        async with asyncio.TaskGroup() as group:
            for listener in self._listeners(scope):
                group.create_task(contained(listener))


class Serial(Hook[Callable[P, Awaitable[R | None]]], Generic[P, R]):
    """First answer wins: listeners are awaited in order until one gives something else than None.

    A listener that raises has not answered, and the next is asked. Where that would be unsafe, as in a
    policy, the hook says with `if_raises` what such a listener is taken to have answered.
    """

    def __init__(self, name: str, if_raises: Callable[[BaseException], R | None] | None = None) -> None:
        super().__init__(name)
        self._if_raises = if_raises

    async def ask(self, scope: Scope, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """The first answer of the listeners that are seen from `scope`, or None when none has one."""
        for listener in self._listeners(scope):
            try:
                answer = await listener(*args, **kwargs)
            except (Exception, asyncio.CancelledError) as error:
                if _cancels_caller(error):
                    raise
                self._log(listener)
                answer = self._if_raises(error) if self._if_raises else None
            if answer is not None:
                return answer
        return None


class Waterfall(
    Hook[Callable[Concatenate[Callable[P, Awaitable[R]], P], Awaitable[R]]],
    Generic[P, R],
):
    """Around: each listener gets `next`, then the arguments; it calls it (changed, again) or answers.

    The first listener is outermost; the caller's own function is innermost. What the inner side does is an
    outcome, whether it returns or raises: a listener may catch it, answer in its place, or replace it with
    `raise New(...) from error`; one that cuts its `next` short (a time-out) may raise as it likes. Whatever
    else a listener raises is its own fault. It is logged, and then the last outcome of its `next` stands;
    if it had not called `next` yet, that is called with what came in. So the innermost function never runs
    again because a listener failed. To refuse, answer; do not raise.
    """

    async def around(self, scope: Scope, inner: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `inner` inside the listeners that are seen from `scope`, and give what the outermost gives."""
        call = inner
        for listener in reversed(self._listeners(scope)):
            call = self._wrapped(listener, call)
        return await call(*args, **kwargs)

    def _wrapped(
        self,
        listener: Callable[Concatenate[Callable[P, Awaitable[R]], P], Awaitable[R]],
        inner: Callable[P, Awaitable[R]],
    ) -> Callable[P, Awaitable[R]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            next_ = _Next(inner)
            try:
                return await listener(next_, *args, **kwargs)
            except (Exception, asyncio.CancelledError) as error:
                if _cancels_caller(error) or next_.accounts_for(error):
                    raise
                self._log(listener)
            return await next_.stand_in(*args, **kwargs)

        return call


class _Next(Generic[P, R]):
    """What a waterfall's listener gets as `next`. Remembers how its calls came out."""

    def __init__(self, inner: Callable[P, Awaitable[R]]) -> None:
        self._inner = inner
        self._errors: list[BaseException] = []
        self._last: _Answer[R] | BaseException | None = None

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            answer = await self._inner(*args, **kwargs)
        except BaseException as error:
            self._errors.append(error)
            self._last = error
            raise
        self._last = _Answer(answer)
        return answer

    def accounts_for(self, error: BaseException) -> bool:
        """Whether an error is one of the calls', an avowed replacement of one, or cut the last one short."""
        cut_short = isinstance(self._last, asyncio.CancelledError)
        return cut_short or any(error is own or error.__cause__ is own for own in self._errors)

    async def stand_in(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What stands when the listener is left out: the last outcome, or a first call."""
        if self._last is None:
            return await self._inner(*args, **kwargs)
        if isinstance(self._last, BaseException):
            raise self._last
        return self._last.value


@dataclass(frozen=True)
class _Answer(Generic[R]):
    value: R


def _cancels_caller(error: BaseException) -> bool:
    """Whether this is the caller's own cancellation, and not a future that a listener awaited in vain."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)
