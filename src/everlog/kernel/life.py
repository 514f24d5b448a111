"""Where each plugin stands, and what the kernel does next. Nothing here starts or stops anything."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from everlog.kernel.plugins import Plugin


class Status(StrEnum):
    """Where a plugin stands."""

    PENDING = "pending"
    """Waits for what it requires."""
    STARTING = "starting"
    """Its set-up runs."""
    ACTIVE = "active"
    """Set up; what it provides can be had."""
    STOPPING = "stopping"
    """Its tear-down runs, or its set-up is being cancelled."""
    FAILED = "failed"
    """Its set-up raised, it broke down later, or it cannot be loaded."""
    DISABLED = "disabled"
    """Known, and not loaded."""


@dataclass(eq=False)
class Life:
    """One loaded plugin."""

    plugin: Plugin
    rank: int
    """Position in the order of loading."""
    status: Status = Status.PENDING
    failure: str = ""
    """Why it failed, when it did."""
    wanted: bool = True
    """False once it is unloaded."""
    since: int = 0
    """Position in the order of starting: a plugin that was started later is stopped earlier."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def in_transition(self) -> bool:
        """Tell whether its set-up or its clean-up is under way."""
        return self.status in (Status.STARTING, Status.STOPPING)

    @property
    def running(self) -> bool:
        """Tell whether anything of it may run: between the beginning of its set-up and the end of its clean-up."""
        return self.in_transition or self.status is Status.ACTIVE


@dataclass(frozen=True)
class Start:
    """Begin a plugin's set-up."""

    life: Life


@dataclass(frozen=True)
class Stop:
    """Begin a plugin's tear-down, or cancel its set-up."""

    life: Life


def next_step(lives: Sequence[Life]) -> Start | Stop | None:
    """What to do next, or None when there is nothing, or something must end first.

    Stops come before starts, the last started first, so that a plugin outlives everything that required it.
    One plugin starts at a time, in the order of loading, so that the order of set-ups is always the same.
    """
    if any(life.status is Status.STOPPING for life in lives):
        return None
    staying = standing(lives)
    leaving = [life for life in lives if life.running and life not in staying]
    if leaving:
        return Stop(max(leaving, key=lambda life: life.since))
    if any(life.status is Status.STARTING for life in lives):
        return None
    ready = (life for life in lives if life.status is Status.PENDING and life.wanted)
    return next((Start(life) for life in ready if not missing(life, lives) and not rivals(life, lives)), None)


def standing(lives: Sequence[Life]) -> set[Life]:
    """The running plugins that may go on: wanted, and all they require comes from another that may go on."""
    staying = {life for life in lives if life.wanted and life.status in (Status.STARTING, Status.ACTIVE)}
    while True:
        offered = _offered(staying)
        without = {life for life in staying if not offered.issuperset(life.plugin.requires)}
        if not without:
            return staying
        staying -= without


def missing(life: Life, lives: Sequence[Life]) -> list[type[object]]:
    """The service types that a plugin requires and cannot have now."""
    offered = _offered(standing(lives))
    return [service for service in life.plugin.requires if service not in offered]


def provider(service: type[object], lives: Sequence[Life]) -> Life | None:
    """The plugin that provides a type or is the one that will: the first loaded, until it is unloaded."""
    return next((life for life in lives if life.wanted and service in life.plugin.provides), None)


def rivals(life: Life, lives: Sequence[Life]) -> list[tuple[type[object], Life]]:
    """The types that a plugin may not provide, each with the plugin that provides it already."""
    claims = ((service, provider(service, lives)) for service in life.plugin.provides)
    return [(service, claimant) for service, claimant in claims if claimant and claimant is not life]


def _offered(staying: set[Life]) -> set[type[object]]:
    return {service for life in staying if life.status is Status.ACTIVE for service in life.plugin.provides}
