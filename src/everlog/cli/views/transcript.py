"""What a person saw, compacted or not."""

from __future__ import annotations

import click

from everlog.cli.output import write_block
from everlog.cli.plain import one_line
from everlog.cli.telling import preview, told_arguments, told_failure, told_text
from everlog.session import Log, Message
from everlog.session.messages import Block, PluginSource, Reasoning, ToolCall, ToolResult
from everlog.session.payloads import AssistantAttempt
from everlog.session.projections.transcript import Line

RESULT_LINES = 12
RESULT_WIDTH = 1_000


def value(log: Log, at: int | None) -> list[dict[str, object]]:
    """Give each line with its message, or the blocks that a failed attempt streamed."""
    return [_line_value(line) for line in log.project("transcript", at)]


def _line_value(line: Line) -> dict[str, object]:
    found: dict[str, object] = {"seq": line.seq, "type": line.event.type, "time": line.event.time}
    if line.message is not None:
        found["message"] = line.message
    else:
        found["blocks"] = list(line.blocks)
    if line.interrupted:
        found["interrupted"] = True
    if line.failure is not None:
        found["failure"] = line.failure
    if line.shadowed_by is not None:
        found["shadowedBy"] = line.shadowed_by
    return found


def tell(log: Log, at: int | None) -> None:
    """Write each line as a person would have seen it."""
    lines: list[Line] = log.project("transcript", at)
    teller = _Teller()
    for before, line in zip([None, *lines], lines, strict=False):
        _mark_shadow(before, line)
        teller.tell(line)


def _mark_shadow(before: Line | None, line: Line) -> None:
    """Say where what the model no longer sees begins and ends."""
    was = before.shadowed_by if before is not None else None
    if line.shadowed_by != was and line.shadowed_by is not None:
        click.echo(click.style(f"⋯ from here the model sees event {line.shadowed_by} instead", dim=True))
    elif was is not None and line.shadowed_by is None:
        click.echo(click.style("⋯ from here the model sees what follows", dim=True))


class _Teller:
    """Writes lines; remembers the calls of the last answer, so that each result can be told whose it is."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}

    def tell(self, line: Line) -> None:
        """Write one line of the transcript."""
        message = line.message
        if message is not None and message.role in ("system", "developer"):
            click.secho(f"{message.role}: {one_line(message.text, 160)}", dim=True)
        elif message is not None and message.role == "user" and message.result is None:
            _tell_input(message)
        else:
            self._tell_answer(line)

    def _tell_answer(self, line: Line) -> None:
        calls = [block for block in line.blocks if isinstance(block, ToolCall)]
        if calls:
            self._calls = {call.id: f"{one_line(call.name)}  {told_arguments(call.arguments)}" for call in calls}
        for block in line.blocks:
            self._tell_block(block)
        if line.interrupted:
            click.secho("✗ the answer was cut off here", fg="yellow")
        elif isinstance(line.event.data, AssistantAttempt):
            why = told_failure(line.failure) if line.failure is not None else "cancelled"
            click.secho(f"✗ {why}", fg="red")

    def _tell_block(self, block: Block) -> None:
        match block:
            case ToolCall():
                click.echo(f"{click.style('●', fg='green')} {self._calls[block.id]}")
            case ToolResult():
                self._tell_result(block)
            case Reasoning():
                write_block(block.text.strip("\n"), click.style("· ", dim=True))
            case _:
                write_block(told_text([block]).strip("\n"))

    def _tell_result(self, result: ToolResult) -> None:
        """Write a result; where several calls were made at once, after a word on whose it is."""
        lines = preview(told_text(result.content) or "(no output)", RESULT_LINES, RESULT_WIDTH)
        told = [self._calls.get(result.tool_call_id, "")] if len(self._calls) > 1 else []
        for at, line in enumerate([*told, *lines]):
            click.secho(
                f"  {'⎿' if at == 0 else ' '} {line}", fg="red" if result.is_error else None, dim=not result.is_error
            )


def _tell_input(message: Message) -> None:
    source = message.source
    if isinstance(source, PluginSource):
        click.secho(f"» {one_line(source.plugin)}:", dim=True)
        write_block(told_text(message.content), "  ")
        return
    write_block(told_text(message.content), click.style("› ", fg="cyan", bold=True))
