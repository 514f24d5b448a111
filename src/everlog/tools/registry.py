"""The tools service: a registry by scope, the pipeline, and the batches of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from everlog.kernel import Registration, Registry, Scope
from everlog.session.messages import ToolCall
from everlog.tools.environment import Surroundings
from everlog.tools.execution import GRACE_SECONDS
from everlog.tools.hooks import Outcome
from everlog.tools.pipeline import Pipeline
from everlog.tools.scheduling import Batch
from everlog.tools.schema import parse_arguments
from everlog.tools.seam import Bench, Tool, ToolContext, ToolFailure, ToolOutput, Tools, Verdict

_log = logging.getLogger("everlog.tools")

TOGETHER = 8
"""How many parallel-safe calls of one answer run at the same time."""


class ToolRegistry(Tools):
    """The tools that plugins add. `scope` is where what is added without a scope stands."""

    def __init__(
        self,
        scope: Scope,
        together: int = TOGETHER,
        grace: float = GRACE_SECONDS,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._scope = scope
        self._together = together
        self._tools = Registry[Tool]("tools")
        self._pipeline = Pipeline(self.offered, grace, surroundings or Surroundings())

    def add(self, tool: Tool, scope: Scope | None = None) -> Registration:
        """Offer a tool; see `Tools.add`."""
        return self._tools.add(scope or self._scope, tool)

    def offered(self, scope: Scope | None = None) -> list[Tool]:
        """Give the tools that are seen from a scope, by name; the innermost, then the latest, of equal names."""
        named = {tool.name: tool for tool in self._tools.seen_from(scope or self._scope)}
        return [named[name] for name in sorted(named)]

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Run one call; see `Tools.run`."""
        return await self._pipeline.run(call, context, context.scope or self._scope, asyncio.Lock(), Outcome())

    async def answer(self, calls: Sequence[ToolCall], bench: Bench) -> None:
        """Work off the calls of a step; see `Tools.answer`."""
        named = {tool.name: tool for tool in self.offered(bench.scope)}

        def is_parallel(call: ToolCall) -> bool:
            return call.name in named and named[call.name].parallel_safe

        await Batch(calls, bench, self._pipeline, self._together).work(is_parallel)

    async def probe(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Look for the effect of a call; see `Tools.probe`."""
        found = [tool for tool in self.offered(context.scope) if tool.name == call.name]
        look = found[0].probe if found else None
        if look is None:
            return "unknown"
        try:
            given = parse_arguments(call.arguments)
            found[0].check(given)
            return await look(context, given)
        except ToolFailure:
            return "unknown"
        except Exception:
            _log.exception("the probe of %s failed", call.name)
            return "unknown"
