"""Budgets of a turn: how many steps, tokens and seconds it may take, and how often it may repeat itself.

Each is off, or generous, unless the configuration says otherwise. A turn that has had enough ends between two
steps, with a reason that says which budget it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice, takewhile

import msgspec

from everlog.agent.seam import BUDGET, Limit, Progress
from everlog.kernel import Context, plugin
from everlog.session.payloads import AssistantMessage, Usage


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budgets of a turn, `[plugin.limits]`; 0 and None are no limit.

    Attributes:
        steps: how many steps.
        tokens: how many tokens, input and output of all its requests together.
        time: how many seconds.
        repeated_call: how many steps in a row may ask for exactly the same calls.
    """

    steps: int | None = 500
    tokens: int | None = None
    time: float | None = None
    repeated_call: int | None = 12

    async def met(self, progress: Progress) -> Limit | None:
        """Give the first limit that a turn has met, or None."""
        if self.steps and progress.steps >= self.steps:
            return Limit("steps", self.steps)
        if self.time and progress.elapsed >= self.time:
            return Limit("time", self.time)
        if self.tokens and _tokens(progress) >= self.tokens:
            return Limit("tokens", self.tokens)
        if self.repeated_call and _repeats(progress, self.repeated_call):
            return Limit("repeated-call", self.repeated_call)
        return None


def _answers(progress: Progress) -> Iterator[AssistantMessage]:
    """Give the answers of the turn, the newest first."""
    events = progress.agent.session.events
    for seq in range(len(events) - 1, progress.started_seq, -1):
        if events[seq].type == "assistant/message":
            data = events[seq].data
            if isinstance(data, AssistantMessage):
                yield data


def _tokens(progress: Progress) -> int:
    used: Usage = progress.agent.session.project("usage").turn(progress.turn)
    return used.input_tokens + used.cache_read_tokens + used.cache_write_tokens + used.output_tokens


def _repeats(progress: Progress, times: int) -> bool:
    """Tell whether the last steps, so many of them, asked for the same calls with the same arguments."""
    asked = (_asked(answer) for answer in islice(_answers(progress), times))
    first = next(asked, [])
    same = 1 + sum(1 for _ in takewhile(lambda calls: calls == first, asked))
    return bool(first) and same == times


def _asked(answer: AssistantMessage) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in answer.message.calls]


@plugin()
async def limits(ctx: Context) -> AsyncIterator[None]:
    """Ends turns that take too many steps, tokens or seconds, or that repeat themselves."""
    ctx.on(BUDGET, ctx.settings(Limits).met)
    yield
