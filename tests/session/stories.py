"""A session told in few words: every verb appends what the loop would append."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from everlog.session import Event, Replace, Session
from everlog.session.messages import (
    Block,
    Message,
    PluginSource,
    Reasoning,
    Text,
    ToolCall,
    developer_message,
    model_source,
    system_message,
    tool_message,
    user_message,
)
from everlog.session.payloads import (
    AssistantAttempt,
    AssistantMessage,
    DeveloperMessage,
    Failure,
    InboxItem,
    InboxSpliced,
    LlmRetry,
    Reason,
    RequestContext,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCallEvent,
    ToolError,
    ToolResultEvent,
    ToolSettled,
    TurnEnd,
    TurnStart,
    Usage,
)

TOOLS = [{"name": "read", "description": "Read a file.", "parameters": {"type": "object", "properties": {}}}]


def clock() -> Any:
    """A clock that moves ten milliseconds at each look."""
    return count(1_000, 10).__next__


class Story:
    """Tells a session. Turn and step numbers follow by themselves."""

    def __init__(self, session: Session | None = None) -> None:
        self.session = session or Session.create({"id": "story", "createdAt": 1_000}, clock=clock())

    @property
    def at(self) -> tuple[int, int]:
        """The turn and step that were begun last."""
        turns = self.session.ledger.turns
        return turns.last, turns.step

    # -- boundaries

    def turn(self) -> Event:
        return self.session.append(TurnStart(turn=self.session.ledger.turns.last + 1))

    def end_turn(self, kind: str = "completed") -> Event:
        return self.session.append(TurnEnd(turn=self.at[0], reason=Reason(kind=kind)))

    def step(self) -> Event:
        turns = self.session.ledger.turns
        return self.session.append(StepStart(turn=turns.last, step=turns.step + 1))

    def end_step(self) -> Event:
        return self.session.append(StepEnd(turn=self.at[0], step=self.at[1]))

    # -- what the model is told

    def queue(self, id: str, target: str = "next-turn", wakes: bool = True, start: int = 0) -> Event:
        item = InboxItem(message=user_message(f"text of {id}", id=id), wakes=wakes)
        return self.session.append(InboxSpliced(target=target, start=start, inserted=(item,)))

    def prompt(self, text: str, id: str | None = None) -> Event:
        return self.session.append(user_message(text, id=id or f"u{self.session.next_seq}"), "append")

    def system(self, text: str) -> Event:
        turn, step = self.at
        old = self.session.surface.system
        if old is not None:
            shadowed: Any = self.session.events[old].data
            turn, step = shadowed.turn, shadowed.step
        payload = SystemMessage(turn=turn, step=step, message=system_message(text, id=f"s{self.session.next_seq}"))
        if old is None:
            return self.session.append(payload, "append")
        return self.session.append(payload, Replace(old, old), [old])

    def developer(self, text: str) -> Event:
        turn, step = self.at
        message = developer_message(text, "tools", id=f"d{self.session.next_seq}")
        return self.session.append(DeveloperMessage(turn=turn, step=step, message=message), "append")

    # -- requests

    def header(self, model: str = "m", reason: str = "initial", tools: Sequence[Any] = TOOLS, **config: Any) -> Event:
        header = {"config": {"provider": "p", "model": model, **config}, "tools": list(tools)}
        return self.session.append_json("request/header", {"header": header, "reason": reason})

    def context(self, window: int = 1_000) -> Event:
        return self.session.append(RequestContext(provider="p", model="m", context_window=window))

    def sent(self, attempt: int = 1) -> Event:
        turn, step = self.at
        body = {"adapter": "a", "adapterVersion": "1", "sha256": "0" * 64, "bytes": 2}
        return self.session.append_json("request/sent", {"turn": turn, "step": step, "attempt": attempt, **body})

    def side(self, id: str, *texts: str, prefix: str = "surface", purpose: str = "title") -> Event:
        messages = [user_message(text, id=f"{id}.{i}").value() for i, text in enumerate(texts)]
        header = {"config": {"provider": "p", "model": "small"}}
        body = {"adapter": "a", "adapterVersion": "1", "sha256": "0" * 64, "bytes": 2}
        data = {"id": id, "purpose": purpose, "prefix": prefix, "header": header, "messages": messages, **body}
        return self.session.append_json("request/side", data)

    # -- what the model says

    def chunk(
        self, text: str = "", attempt: int = 1, records: Sequence[Any] | None = None, kind: str = "text"
    ) -> Event:
        turn, step = self.at
        packed = [{"kind": kind, "index": 0, "t0": 5_000, "dt": [], "parts": [text]}]
        data = {"turn": turn, "step": step, "attempt": attempt, "records": packed if records is None else list(records)}
        return self.session.append_json("assistant/chunk", data)

    def answer(
        self,
        text: str = "",
        calls: Iterable[str] = (),
        usage: Usage | None = None,
        interrupted: bool | None = None,
        reasoning: str = "",
        sources: Sequence[int] | None = None,
    ) -> Event:
        turn, step = self.at
        blocks: list[Block] = [Reasoning(text=reasoning)] if reasoning else []
        blocks += [Text(text=text)] if text else []
        blocks += [ToolCall(id=id, name="read", arguments='{"path":"x"}') for id in calls]
        message = Message(
            id=f"a{self.session.next_seq}", role="assistant", content=tuple(blocks), source=model_source("p", "m")
        )
        payload = AssistantMessage(turn=turn, step=step, message=message, usage=usage, interrupted=interrupted)
        return self.session.append(payload, "append", sources)

    def fail(self, attempt: int = 1, code: str | None = "SERVER", usage: Usage | None = None) -> Event:
        turn, step = self.at
        failure = Failure(message="it broke", code=code) if code else None
        return self.session.append(
            AssistantAttempt(turn=turn, step=step, attempt=attempt, failure=failure, usage=usage)
        )

    def retry(self, attempt: int = 1) -> Event:
        turn, step = self.at
        failure = Failure(message="it broke", code="SERVER")
        return self.session.append(LlmRetry(turn=turn, step=step, attempt=attempt, failure=failure, delay_ms=5))

    # -- calls

    def call(self, id: str, arguments: str = '{"path":"x"}') -> Event:
        turn, step = self.at
        return self.session.append(ToolCallEvent(turn=turn, step=step, call_id=id, name="read", arguments=arguments))

    def settle(self, id: str, text: str = "done") -> Event:
        turn, step = self.at
        message = tool_message(id, text, id=f"r{id}")
        return self.session.append(ToolSettled(turn=turn, step=step, message=message))

    def result(self, id: str, text: str = "done", code: str | None = None) -> Event:
        turn, step = self.at
        taken = self.session.ledger.calls.taken.get(id)
        error = ToolError(name="ToolFailedError", code=code) if code else None
        message = tool_message(id, text, is_error=code is not None, id=f"r{id}")
        payload = ToolResultEvent(turn=turn, step=step, message=message, error=error)
        return self.session.append(payload, "append", None if taken is None else [taken])

    # -- the view shortened

    def compact(self, start: int, end: int, text: str = "summary", id: str = "c1") -> Event:
        """Replace the nodes from start to end by a checkpoint; give the replacement."""
        session = self.session
        open_turn = session.ledger.turns.open_turn
        nodes = list(session.surface.nodes)
        shadowed = nodes[nodes.index(start) : nodes.index(end) + 1]
        first = session.append_json("compaction/start", {"compactionId": id, "turn": open_turn, "trigger": "manual"})
        summary = session.append_json(
            "compaction/summary",
            {
                "compactionId": id,
                "summary": [{"type": "text", "text": text}],
                "shadowedRange": {"startSeq": start, "endSeq": end},
                "shadowedSeqs": shadowed,
                "shadowedTokens": 10,
                "provider": "p",
                "model": "m",
                "usage": {"inputTokens": 7, "outputTokens": 3},
            },
        )
        source = PluginSource(plugin="compaction", form="checkpoint", compaction_id=id)
        checkpoint = session.append(
            user_message(text, source, id=f"k{session.next_seq}"),
            Replace(start, end),
            [first.seq, summary.seq, *shadowed],
        )
        session.append_json("compaction/end", {"compactionId": id, "turn": open_turn})
        return checkpoint

    def prune(self, seq: int, text: str = "cut") -> Event:
        """Shorten a result in the view, inside a turn; give the replacement."""
        old = self.session.events[seq]
        value: Any = old.data.value()  # type: ignore[union-attr]
        self.session.append_json(
            "compaction/prune",
            {"shadowedRange": {"startSeq": seq, "endSeq": seq}, "shadowedSeqs": [seq], "shadowedTokens": 5},
        )
        value["message"]["content"][0]["content"] = [{"type": "text", "text": text}]
        taken = [source for source in old.source_event_seqs or () if source != seq]
        return self.session.append_json("tool/result", value, Replace(seq, seq), [*taken, seq])


def plain_turn(story: Story, prompt: str = "hello", answer: str = "hi") -> None:
    """Tell a turn of one step without calls."""
    story.turn()
    story.step()
    story.prompt(prompt)
    if story.session.request_header() is None:
        story.header()
    story.sent()
    story.answer(answer)
    story.end_step()
    story.end_turn()
