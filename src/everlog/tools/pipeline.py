"""The way of one call: look up, check, permit, run, make fit, look once more."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from everlog.kernel import Scope
from everlog.session.jsonvalue import scrub_json
from everlog.session.messages import ToolCall
from everlog.tools.approval import consent
from everlog.tools.bounding import fit
from everlog.tools.environment import Surroundings, redacted
from everlog.tools.execution import execute
from everlog.tools.hooks import (
    EXECUTE,
    FINISHED,
    GUARD,
    POLICY,
    Allow,
    Ask,
    Decision,
    Deny,
    Examination,
    Outcome,
    ToolUse,
)
from everlog.tools.redaction import CleanBlobs
from everlog.tools.schema import parse_arguments
from everlog.tools.seam import Blobs, Tool, ToolContext, ToolFailure, ToolOutput, failure

Offered = Callable[[Scope], Sequence[Tool]]


class Pipeline:
    """Runs calls, one `run` each. The scope is where hooks and the approver are looked up."""

    def __init__(self, offered: Offered, grace: float, surroundings: Surroundings) -> None:
        self._offered = offered
        self._grace = grace
        self._surroundings = surroundings

    async def run(
        self, call: ToolCall, context: ToolContext, scope: Scope, asking: asyncio.Lock, outcome: Outcome
    ) -> ToolOutput:
        """Give the output of a call, whatever happens; calls that share `asking` put one question at a time.

        When the caller is cancelled, `outcome` holds what became of the tool, or nothing if it has not begun.
        """
        try:
            use = self._resolved(call, self._guarded(context), scope, outcome)
        except ToolFailure as error:
            return self.fitted(failure(str(error), error.code), None)
        refusal = await _refusal(use, scope, asking)
        if refusal is not None:
            return self.fitted(failure(refusal, "PERMISSION_DENIED"), None)
        if use.tool.effects != "read-only":
            await context.flush()
        return await self._performed(use, scope)

    def fitted(self, output: ToolOutput, blobs: Blobs | None) -> ToolOutput:
        """Give an output as the log takes it, without the values of secrets."""
        return fit(output, blobs, self._surroundings.look().secrets)

    def _guarded(self, context: ToolContext) -> ToolContext:
        """Give a context from which no secret can be had."""
        environ, secrets = self._surroundings.look()
        return replace(
            context,
            environ=environ,
            blobs=context.blobs and CleanBlobs(context.blobs, secrets),
            redact=partial(redacted, secrets=secrets),
        )

    def _resolved(self, call: ToolCall, context: ToolContext, scope: Scope, outcome: Outcome) -> ToolUse:
        tools = {tool.name: tool for tool in self._offered(scope)}
        tool = tools.get(call.name)
        if tool is None:
            raise ToolFailure(_unknown(call.name, list(tools)), code="UNKNOWN_TOOL")
        given = scrub_json(parse_arguments(call.arguments))
        assert isinstance(given, dict)
        return ToolUse(call, tool, given, tool.check(given), context, outcome)

    async def _performed(self, use: ToolUse, scope: Scope) -> ToolOutput:
        async def inner(use: ToolUse) -> ToolOutput:
            return await execute(use, self._grace)

        async def as_it_is(use: ToolUse, output: ToolOutput) -> ToolOutput:
            return output

        output = self.fitted(await _never_raising(EXECUTE.around(scope, inner, use), use), use.context.blobs)
        use.outcome.output = output
        seen = await _never_raising(FINISHED.around(scope, as_it_is, use, output), use)
        return output if seen is output else self.fitted(seen, use.context.blobs)


async def _never_raising(running: Awaitable[ToolOutput], use: ToolUse) -> ToolOutput:
    try:
        return await running
    except Exception as error:
        return failure(f"{use.tool.name} failed: {type(error).__name__}: {error}", "TOOL_FAILED")


async def _refusal(use: ToolUse, scope: Scope, asking: asyncio.Lock) -> str | None:
    """Give why the call may not run, after asking a person where that is due; None when it may."""
    decision = await _decide(use, scope)
    if isinstance(decision, Ask):
        async with asking:
            # The answer to an earlier call's question may have settled this one's.
            decision = await _decide(use, scope)
            if isinstance(decision, Ask):
                decision = await consent(use, scope, decision)
    return decision.reason if isinstance(decision, Deny) else None


async def _decide(use: ToolUse, scope: Scope) -> Decision:
    decision = await POLICY.ask(scope, use) or Allow()
    if isinstance(decision, Deny):
        return decision
    examination = Examination(use)
    refused = await GUARD.ask(scope, examination)
    if refused is not None:
        return Deny(refused)
    if not examination.consent_for:
        return decision
    reasons = [decision.reason] if isinstance(decision, Ask) else []
    # A guard's demand stands at every call: no rule could lift it, so "always" is not on offer.
    return Ask("; ".join([*reasons, *examination.consent_for]))


def _unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(sorted(names)) or 'none'}."
    return f"There is no tool {name!r}. {meant}"
