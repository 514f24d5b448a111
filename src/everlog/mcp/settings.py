"""The `[mcp.servers.NAME]` tables of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from everlog.errors import EverlogError
from everlog.kernel import Config


class McpUnavailable(EverlogError):
    """The optional package that speaks the protocol is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the Model Context Protocol needs an optional package; install it with `pip install everlog[mcp]`"
        )


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server, by its command or its address.

    Attributes:
        command: the program and its arguments, which speaks on stdin and stdout.
        url: the address of a streamable HTTP endpoint.
        env: variables for the command, besides a few harmless ones; nothing else of the environment is passed.
        cwd: the folder that the command starts in.
        start_timeout: seconds until it must have told its tools.
        timeout: seconds that one call may take.
        ping: seconds between two looks whether it still answers.
        restarts: how often it is started again after it died, before it is given up.
        read_only: tools that change nothing, by your own word: they run unasked. A server's word for it is not taken.
        tools: the only tools that are offered; None is all.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str] = {}
    cwd: str | None = None
    start_timeout: float = 30
    timeout: float = 60
    ping: float = 20
    restarts: int = 5
    read_only: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None

    @property
    def place(self) -> str:
        """Give what is started or called."""
        return self.url or " ".join(self.command)


def servers(config: Config) -> Mapping[str, Server]:
    """Read the servers that the user's own files name. Raises ConfigError.

    A project's file has no say: it comes with the project, and a server is a command that runs.
    """
    return config.own.section(dict[str, Server], "mcp", "servers")


def brought(config: Config) -> list[str]:
    """Give the names of servers that only a project's file names; they are not started."""
    own = servers(config)
    return [
        name for name in config.brought.section(dict[str, msgspec.Raw | object], "mcp", "servers") if name not in own
    ]
