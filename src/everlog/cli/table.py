"""Which commands there are, and what `everlog --help` says: known without importing any of them, or click."""

from __future__ import annotations

from everlog.cli.exits import EXIT_CODES

PURPOSE = "An agent harness on a durable, append-only event log."

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("everlog.cli.run", "Have an agent work on a prompt, in a new session."),
    "resume": ("everlog.cli.resume", "Go on with a session."),
    "sessions": ("everlog.cli.sessions", "List the sessions, those used last first."),
    "show": ("everlog.cli.show", "Show a session: its transcript, or another view of it."),
    "request": ("everlog.cli.request", "Show what a model was sent."),
    "context": ("everlog.cli.context", "Show what the model sees, in tokens, and what stands for what."),
    "stats": ("everlog.cli.stats", "Show what a session, or all of them, cost: tokens, time, money."),
    "compact": ("everlog.cli.compact", "Shorten what the model sees of a session now."),
    "fork": ("everlog.cli.fork", "Make a new session that goes on from a point of another."),
    "delete": ("everlog.cli.delete", "Put sessions into the trash."),
    "verify": ("everlog.cli.verify", "Prove that sessions are whole, and requests what was sent."),
    "repair": ("everlog.cli.repair", "Close what a crash left open, or salvage a damaged session."),
    "store": ("everlog.cli.store", "Copy, check and tidy the stores of sessions."),
    "diff": ("everlog.cli.diff", "Show where two sessions part, and what each has after."),
    "import": ("everlog.cli.import_session", "Take over a session of another tool."),
    "models": ("everlog.cli.models", "List the models that are known, and where their keys come from."),
    "auth": ("everlog.cli.auth", "Keep the keys of providers in the system's keyring."),
    "continue": ("everlog.cli.continue_session", "Start a session from what the model saw at the end of a recording."),
    "mcp": ("everlog.cli.mcp", "Use the tools of MCP servers, and serve sessions to MCP clients."),
    "plugins": ("everlog.cli.plugins", "List the plugins and what state each is in."),
    "doctor": ("everlog.cli.doctor", "Say what is configured, what is missing, and how to fix it."),
}
"""Command -> the module that defines it as `command`, and its line in `everlog --help`."""

OPTIONS = {
    "--version": "Show the version and exit.",
    "--debug": "Show the details of an error.",
    "-h, --help": "Show this message and exit.",
}
"""The options of `everlog` itself."""


def overview() -> str:
    """Give what `everlog --help` writes."""
    parts = ["Usage: everlog [OPTIONS] COMMAND [ARGS]...", f"  {PURPOSE}"]
    parts.append(_list("Options", OPTIONS))
    parts.append(_list("Commands", {name: line for name, (_, line) in COMMANDS.items()}))
    parts.append(_list("Exit codes", {str(code): meaning for code, meaning in EXIT_CODES.items()}))
    parts.append("`everlog COMMAND --help` says more.")
    return "\n\n".join(parts)


def _list(title: str, lines: dict[str, str]) -> str:
    width = max(map(len, lines))
    return "\n".join([f"{title}:", *(f"  {name:<{width}}  {line}" for name, line in lines.items())])
