"""A turn on a terminal, as it happens: events of the log, told with Rich as they are committed."""

from __future__ import annotations

from itertools import groupby
from typing import Self

from rich.console import Console
from rich.text import Text as Styled

from everlog.agent.seam import Agent
from everlog.cli.outcome import Outcome
from everlog.cli.output import counted
from everlog.cli.plain import harmless, one_line
from everlog.cli.telling import preview, told_arguments, told_failure, told_text, told_usage
from everlog.session.event import Event, Replace
from everlog.session.messages import Message, PluginSource, ToolResult
from everlog.session.payloads import (
    AssistantAttempt,
    AssistantChunk,
    AssistantMessage,
    CompactionEnd,
    CompactionStart,
    DeveloperMessage,
    LlmRetry,
    TodoWrite,
    ToolCallEvent,
    ToolResultEvent,
)
from everlog.session.records import deltas_of

_TODO_MARKS = {"completed": "✔", "in_progress": "▸"}


class _Output(Console):
    """A console that says when its reader has left; Rich would end the program wherever it stands."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, which the command ends by in good order."""
        raise BrokenPipeError


class Terminal:
    """The face for people. A streamed block is written as it comes; everything else is a line of its own."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._streaming = ""  # the kind of block that the cursor stands in, or ""
        self._streamed = False  # whether this answer came as chunks
        self._calls: dict[str, str] = {}  # what calls that were taken up and not answered are told as, by id
        self._parallel = False  # whether several of them were there at once, so that results need a name

    @classmethod
    def on_stdout(cls) -> Self:
        """Give one that writes to stdout, in colour where that is a terminal."""
        return cls(_Output(highlight=False, markup=False, emoji=False))

    def begin(self, agent: Agent) -> None:
        """Write the session's id, its model and its folder."""
        cwd = agent.session.header.cwd or "no folder"
        self.line(f"session {agent.id}  {one_line(agent.model)}  {one_line(cwd)}", "dim")

    def notice(self, text: str) -> None:
        """Write something that the log does not hold."""
        self.line(f"! {one_line(text)}", "yellow")

    def end(self, outcome: Outcome) -> None:
        """Write how the turn came out."""
        ended = outcome.told if outcome.complaint is None else outcome.told.partition(":")[0]
        facts = [f"turn {outcome.turn} {ended}", counted(outcome.steps, "step"), told_usage(outcome.usage)]
        self.line("  ".join([*filter(None, facts), f"session {outcome.session}"]), "dim")

    def tell(self, event: Event) -> None:
        """Tell one event; most types, and what only changes the model's view, say nothing to a person."""
        if isinstance(event.surface_op, Replace):
            return
        match event.data:
            case AssistantChunk():
                self._stream(event)
            case AssistantMessage() as answer:
                self._answer(answer)
            case AssistantAttempt():
                self._end_block()
            case LlmRetry() as retry:
                why, pause = told_failure(retry.failure), retry.delay_ms / 1000
                self.line(f"↻ attempt {retry.attempt} failed: {why}; again in {pause:.1f} s", "yellow")
            case ToolCallEvent() as call:
                self._call(call)
            case ToolResultEvent() as result:
                self._result(result)
            case Message() as message:
                self._input(message)
            case DeveloperMessage() as told:
                self.line(f"» {one_line(told.message.text, 160)}", "dim")
            case TodoWrite() as written:
                for todo in written.todos:
                    self.line(f"  {_TODO_MARKS.get(todo.status, '○')} {one_line(todo.content)}", "cyan")
            case CompactionStart():
                self.line("⋯ shortening what the model sees", "dim")
            case CompactionEnd() as end if end.error_json:
                self.line("⋯ it was not shortened; see the log", "yellow")
            case _:
                pass

    def line(self, text: str, style: str = "") -> None:
        """Write a line of its own."""
        self._end_block()
        self._console.print(Styled(harmless(text), style=style), soft_wrap=True)

    def _stream(self, event: Event) -> None:
        said = (delta for delta in deltas_of(event) if delta.kind in ("text", "reasoning"))
        for kind, deltas in groupby(said, key=lambda delta: delta.kind):
            self._streamed = True
            self._write("".join(delta.text for delta in deltas), kind)

    def _write(self, text: str, kind: str) -> None:
        if self._streaming != kind:
            self._end_block()
            self._streaming = kind
        style = "dim italic" if kind == "reasoning" else ""
        self._console.print(Styled(harmless(text), style=style), end="", soft_wrap=True)

    def _end_block(self) -> None:
        if self._streaming:
            self._console.print()
            self._streaming = ""

    def _answer(self, answer: AssistantMessage) -> None:
        if not self._streamed and answer.message.text:
            self._write(answer.message.text, "text")
        self._streamed = False
        self._end_block()
        if answer.interrupted:
            self.line("✗ the answer was cut off here", "yellow")

    def _call(self, call: ToolCallEvent) -> None:
        told = f"{one_line(call.name)}  {told_arguments(call.arguments)}"
        self._calls[call.call_id] = told
        self._parallel = self._parallel or len(self._calls) > 1
        self._end_block()
        self._console.print(Styled("● ", style="green").append(told, style="bold"), soft_wrap=True)

    def _result(self, result: ToolResultEvent) -> None:
        block = result.message.result or ToolResult()
        told = self._calls.pop(block.tool_call_id, "")
        style = "red" if block.is_error else "dim"
        lines = preview(told_text(block.content) or "(no output)")
        for at, line in enumerate([told, *lines] if self._parallel else lines):
            self.line(f"  {'⎿' if at == 0 else ' '} {line}", style)
        self._parallel = self._parallel and bool(self._calls)

    def _input(self, message: Message) -> None:
        source = message.source
        mark = f"» {one_line(source.plugin)}:" if isinstance(source, PluginSource) else "›"
        for line in preview(told_text(message.content), lines=12):
            self.line(f"{mark} {line}", "bold cyan" if mark == "›" else "dim")
