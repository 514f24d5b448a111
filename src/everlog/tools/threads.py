"""Running plain functions beside the event loop, in threads that never keep the process alive."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T], stop: threading.Event | None = None) -> T:
    """Run a function in a thread of its own, and give what it returns or raises.

    A thread cannot be ended from outside. When the caller is cancelled, `stop` is set and the function awaited
    still; a second cancellation leaves it behind. The thread is a daemon: it ends with the process at the latest.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    run = contextvars.copy_context().run

    def work() -> None:
        try:
            result = run(function)
        except BaseException as error:
            _tell(loop, future, None, error)
        else:
            _tell(loop, future, result, None)

    threading.Thread(target=work, daemon=True, name=f"everlog {getattr(function, '__name__', 'call')}").start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if stop is None or future.done():
            raise
        stop.set()
        return await asyncio.shield(future)


def _tell(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], result: T | None, error: BaseException | None
) -> None:
    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
            return
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:  # what a future cannot hold, or what would end the event loop
            future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
        future.exception()  # so that one that nobody waits for is not complained about

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more
