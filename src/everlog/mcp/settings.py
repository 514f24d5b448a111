"""The `[mcp.servers.NAME]` tables of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from everlog.errors import EverlogError
from everlog.kernel import Config

Seconds: TypeAlias = Annotated[float, Meta(gt=0)]


class McpUnavailable(EverlogError):
    """The optional package that speaks the protocol is not installed."""

    def __init__(self) -> None:
        super().__init__("the Model Context Protocol needs an extra: pip install 'everlog[mcp]'")


def require_sdk() -> None:
    """Raise McpUnavailable where the SDK is not installed."""
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise McpUnavailable


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server, by its command or its address.

    Attributes:
        command: the program and its arguments, which speaks on stdin and stdout.
        url: the address of a streamable HTTP endpoint.
        env: variables for the command.
        pass_env: names of variables of this process's environment that the command gets too. Besides these and
            `env` it gets a few harmless ones, like PATH and HOME, and nothing else.
        cwd: the folder that the command starts in.
        headers: HTTP headers for the endpoint.
        token_env: the variable that holds a token for the endpoint, sent as `Authorization: Bearer`.
        start_timeout: seconds until it must have told its tools.
        timeout: seconds that one call may take.
        ping: seconds between two looks whether it still answers, while nothing is called.
        restarts: how often in a row it is started again after it broke, before it is given up.
        read_only: tools that change nothing, by your own word: they run unasked.
        trust_annotations: whether the server's own word counts for the same.
        tools: the only tools that are offered; None is all.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str] = {}
    pass_env: tuple[str, ...] = ()
    cwd: str | None = None
    headers: dict[str, str] = {}
    token_env: str | None = None
    start_timeout: Seconds = 30
    timeout: Seconds = 60
    ping: Seconds = 20
    restarts: Annotated[int, Meta(ge=0)] = 5
    read_only: tuple[str, ...] = ()
    trust_annotations: bool = False
    tools: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError('name either `command`, like ["uvx", "mcp-server-time"], or `url`')

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
    own = config.own.section(dict[str, object], "mcp", "servers")
    return [name for name in config.brought.section(dict[str, object], "mcp", "servers") if name not in own]
