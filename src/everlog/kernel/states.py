"""What `everlog plugins` shows: each plugin's state, and in words what it waits for or why it failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from everlog.errors import EverlogError
from everlog.kernel.life import Life, Status, missing, provider, rivals


@dataclass(frozen=True)
class PluginState:
    """One line of `everlog plugins`."""

    name: str
    status: Status
    reason: str = ""
    """What it waits for, why it failed, or why it is disabled; empty when it is active."""
    requires: tuple[str, ...] = ()
    """Names of the service types that it needs."""
    provides: tuple[str, ...] = ()
    """Names of the service types that it gives."""
    summary: str = ""
    """What it is for: the first line of its docstring."""
    source: str = ""
    """Where it comes from: `module:name`."""


def state_of(life: Life, lives: Sequence[Life], absent: Sequence[PluginState] = ()) -> PluginState:
    """The state of a loaded plugin among the others."""
    plugin = life.plugin
    status, reason = life.status, life.failure
    if status is Status.PENDING:
        status, reason = _while_pending(life, lives, absent)
    return PluginState(
        plugin.name,
        status,
        reason,
        tuple(service.__name__ for service in plugin.requires),
        tuple(service.__name__ for service in plugin.provides),
        plugin.summary,
        plugin.source,
    )


def why_missing(
    service: type[object], lives: Sequence[Life], absent: Sequence[PluginState], path: tuple[Life, ...] = ()
) -> str:
    """Why a service cannot be had, down to the plugin where the chain of requirements breaks.

    `path` holds the plugins whose requirements led here.
    """
    life = provider(service, lives)
    if life is None:
        return _unprovided(service, absent)
    name = life.plugin.name
    if life in path:
        circle = [*(each.plugin.name for each in path[path.index(life) :]), name]
        return f"a circle of requirements: {' -> '.join(circle)}"
    match life.status:
        case Status.FAILED:
            return f"{name} provides it and failed: {life.failure}"
        case Status.PENDING:
            return f"{name} provides it and {_while_pending(life, lives, absent, path)[1]}"
        case status:
            return f"{name} provides it and is {status}"


def reason_of(error: BaseException) -> str:
    """An error as one line; of a group, its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, EverlogError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _while_pending(
    life: Life, lives: Sequence[Life], absent: Sequence[PluginState], path: tuple[Life, ...] = ()
) -> tuple[Status, str]:
    for service, claimant in rivals(life, lives):
        other = claimant.plugin.name
        hint = f'choose one with [plugins] disable = ["{other}"] or ["{life.plugin.name}"]'
        return Status.FAILED, f"provides {service.__name__}, as {other} does already: {hint}"
    waits = [
        f"{service.__name__} ({why_missing(service, lives, absent, (*path, life))})" for service in missing(life, lives)
    ]
    return Status.PENDING, f"waits for {', '.join(waits)}" if waits else "starts next"


def _unprovided(service: type[object], absent: Sequence[PluginState]) -> str:
    for state in absent:
        if service.__name__ in state.provides:
            return f"{state.name} provides it and is {state.status}: {state.reason}"
    idle = [state.name for state in absent if state.status is Status.DISABLED and not state.provides]
    return f"no plugin provides it; disabled: {', '.join(idle)}" if idle else "no plugin provides it"
