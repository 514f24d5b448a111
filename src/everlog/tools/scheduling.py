"""The calls of one answer, worked off together: barriers, a bounded pool, results in call order, none unanswered.

An exclusive call waits for all before it and holds back all after it. Consecutive parallel-safe calls run
together, up to a bound. A result whose turn it is not yet is kept as a `tool/settled`, so that a crash does
not lose it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Raw

from everlog.session.jsonvalue import NotJSON
from everlog.session.messages import ToolCall, tool_message
from everlog.session.payloads import ToolCallEvent, ToolResultEvent, ToolSettled
from everlog.session.views import View, json_raw
from everlog.tools.execution import not_started
from everlog.tools.hooks import Outcome
from everlog.tools.pipeline import Pipeline
from everlog.tools.seam import Bench, ToolContext, ToolOutput, failure

IsParallel = Callable[[ToolCall], bool]


class Batch:
    """The calls of one step. `work` is awaited once."""

    def __init__(self, calls: Sequence[ToolCall], bench: Bench, pipeline: Pipeline, together: int) -> None:
        self._calls = calls
        self._bench = bench
        self._pipeline = pipeline
        self._together = asyncio.Semaphore(together)
        self._asking = asyncio.Lock()
        self._payloads: dict[int, ToolSettled] = {}
        self._taken: dict[int, int] = {}
        self._answered = 0
        turns = bench.session.ledger.turns
        self._turn, self._step = turns.last, turns.step

    async def work(self, is_parallel: IsParallel) -> None:
        """Answer every call; also when this is cancelled or a flush fails, which is raised afterwards."""
        try:
            for group in _groups(self._calls, is_parallel):
                await self._together_in(group)
        finally:
            self._answer_rest()

    async def _together_in(self, group: Sequence[int]) -> None:
        """Run a group, and return or raise when the last of it has ended. The first error ends the others."""
        tasks = {asyncio.create_task(self._one(index), name=f"call {self._calls[index].id}") for index in group}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            await _ended(tasks)
            raise
        await _ended(tasks)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _one(self, index: int) -> None:
        call = self._calls[index]
        async with self._together:
            self._take_up(index)
            outcome = Outcome()
            try:
                outcome.output = await self._pipeline.run(
                    call, self._context(call), self._bench.scope, self._asking, outcome
                )
            finally:
                if outcome.output is not None:
                    self._settle(index, outcome.output)

    def _take_up(self, index: int) -> None:
        call = self._calls[index]
        payload = ToolCallEvent(
            turn=self._turn, step=self._step, call_id=call.id, name=call.name, arguments=call.arguments
        )
        self._taken[index] = self._bench.session.append(payload).seq

    def _context(self, call: ToolCall) -> ToolContext:
        bench = self._bench
        return ToolContext(
            cwd=bench.cwd,
            call_id=call.id,
            session=bench.session,
            scope=bench.scope,
            blobs=bench.blobs,
            record=_recorder(partial(_append, bench)),
            flush=bench.flush,
        )

    def _settle(self, index: int, output: ToolOutput) -> None:
        """Append a result, and those that waited for it; or keep it safe until its turn."""
        self._payloads[index] = self._payload(index, output)
        if index == self._answered:
            self._append_ready()
        else:
            self._bench.session.append(self._payloads[index])

    def _append_ready(self) -> None:
        """Append the results that are next in call order."""
        while (payload := self._payloads.get(self._answered)) is not None:
            result = ToolResultEvent(
                turn=payload.turn,
                step=payload.step,
                message=payload.message,
                error=payload.error,
                meta_json=payload.meta_json,
            )
            taken = self._taken.get(self._answered)
            sources = None if taken is None else (taken,)
            self._bench.session.append(result, surface="append", sources=sources)
            self._answered += 1

    def _payload(self, index: int, output: ToolOutput) -> ToolSettled:
        try:
            return self._encoded(index, output)
        except NotJSON as error:  # deeper than an event may be
            text = f"The tool ran, but what it returned cannot be kept: {error}"
            return self._encoded(index, failure(text, "TOOL_RESULT_INVALID"))

    def _encoded(self, index: int, output: ToolOutput) -> ToolSettled:
        payload = ToolSettled(
            turn=self._turn,
            step=self._step,
            message=tool_message(self._calls[index].id, output.content, is_error=output.error is not None),
            error=output.error,
            meta_json=json_raw(output.meta) if output.meta is not None else Raw(b""),
        )
        payload.to_json()
        return payload

    def _answer_rest(self) -> None:
        for index in range(self._answered, len(self._calls)):
            if index not in self._payloads:
                self._payloads[index] = self._payload(
                    index, self._pipeline.fitted(not_started(self._calls[index]), None)
                )
        self._append_ready()


def _groups(calls: Sequence[ToolCall], is_parallel: IsParallel) -> Iterator[list[int]]:
    """Give runs of consecutive parallel-safe calls, and each exclusive call by itself, as indexes."""
    group: list[int] = []
    for index, call in enumerate(calls):
        if is_parallel(call):
            group.append(index)
            continue
        if group:
            yield group
        yield [index]
        group = []
    if group:
        yield group


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel what runs, and wait for the end of each; a cancellation meanwhile is passed on to them."""
    pending = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError:
            pending = {task for task in pending if not task.done()}
            for task in pending:
                task.cancel()


def _append(bench: Bench, payload: View) -> None:
    bench.session.append(payload)


def _recorder(append: Callable[[View], None]) -> Callable[[View], None]:
    """Give what appends a payload from any thread: the session belongs to the thread of the event loop."""
    loop, home = asyncio.get_running_loop(), threading.get_ident()

    def record(payload: View) -> None:
        if threading.get_ident() == home:
            append(payload)
            return
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        loop.call_soon_threadsafe(_run, partial(append, payload), done)
        done.result()

    return record


def _run(function: Callable[[], None], done: concurrent.futures.Future[None]) -> None:
    try:
        function()
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(None)
