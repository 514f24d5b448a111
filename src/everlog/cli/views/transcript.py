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
    for before, line in zip([None, *lines], lines, strict=False):
        _mark_shadow(before, line)
        _tell_line(line)


def _mark_shadow(before: Line | None, line: Line) -> None:
    """Say where what the model no longer sees begins and ends."""
    was = before.shadowed_by if before is not None else None
    if line.shadowed_by != was and line.shadowed_by is not None:
        click.echo(click.style(f"⋯ from here the model sees event {line.shadowed_by} instead", dim=True))
    elif was is not None and line.shadowed_by is None:
        click.echo(click.style("⋯ from here the model sees what follows", dim=True))


def _tell_line(line: Line) -> None:
    if line.message is not None and line.message.role in ("system", "developer"):
        click.echo(click.style(f"{line.message.role}: {one_line(line.message.text, 160)}", dim=True))
        return
    if line.message is not None and line.message.role == "user" and line.message.result is None:
        _tell_input(line.message)
        return
    for block in line.blocks:
        _tell_block(block)
    if line.interrupted:
        click.secho("✗ the answer was cut off here", fg="yellow")
    elif isinstance(line.event.data, AssistantAttempt):
        why = told_failure(line.failure) if line.failure is not None else "cancelled"
        click.secho(f"✗ {why}", fg="red")


def _tell_input(message: Message) -> None:
    source = message.source
    if isinstance(source, PluginSource):
        click.secho(f"» {one_line(source.plugin)}:", dim=True)
        write_block(told_text(message.content), "  ")
        return
    write_block(told_text(message.content), click.style("› ", fg="cyan", bold=True))


def _tell_block(block: Block) -> None:
    match block:
        case ToolCall():
            click.echo(f"{click.style('●', fg='green')} {one_line(block.name)}  {told_arguments(block.arguments)}")
        case ToolResult():
            for at, line in enumerate(preview(told_text(block.content) or "(no output)", RESULT_LINES)):
                mark = "⎿" if at == 0 else " "
                click.secho(f"  {mark} {line}", fg="red" if block.is_error else None, dim=not block.is_error)
        case Reasoning():
            write_block(block.text, click.style("· ", dim=True))
        case _:
            write_block(told_text([block]))
