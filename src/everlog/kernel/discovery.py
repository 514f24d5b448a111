"""Finds plugins: entry points of installed packages, and what the configuration names."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import msgspec

from everlog.kernel.config import Config
from everlog.kernel.errors import PluginInvalid
from everlog.kernel.kernel import Kernel
from everlog.kernel.life import Life, Status
from everlog.kernel.plugins import Plugin
from everlog.kernel.states import PluginState, reason_of, state_of

GROUP = "everlog.plugins"
"""The entry-point group. An entry point has the plugin's name and leads to a `Plugin`."""


class PluginsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[plugins]`."""

    enable: tuple[str, ...] = ()
    """Names of plugins that are off by default, and `module:name` of ones that no entry point announces."""
    disable: tuple[str, ...] = ()
    """Names of plugins that are not loaded; their code is not even imported. Wins over `enable`."""


@dataclass(frozen=True)
class Discovery:
    """What was found."""

    plugins: tuple[Plugin, ...]
    """To be loaded, Everlog's own first, each group by name; then those that `enable` leads to."""
    absent: tuple[PluginState, ...]
    """Known, but disabled or impossible to load; each says why."""

    def without(self, plugin: Plugin, reason: str) -> "Discovery":
        """The same, but for a plugin that is not to be loaded, and is listed as failed."""
        others = tuple(other for other in self.plugins if other is not plugin)
        return Discovery(others, (*self.absent, _with_status(plugin, Status.FAILED, reason)))


@dataclass(frozen=True)
class _Candidate:
    name: str
    source: str
    load: Callable[[], object]
    named: bool = False
    """Whether `enable` leads to it by path."""
    own: bool = False
    """Whether it comes with Everlog."""


def discover(config: Config) -> Discovery:
    """Find all plugins. One that cannot be imported hides no other. Raises ConfigError for a wrong table."""
    table = _table(config)
    return _found(_candidates(table, _trusted(config)), table)


def discover_added(config: Config) -> Discovery:
    """Find the plugins that do not come with Everlog, as `discover` does, and import no others. Raises ConfigError."""
    table = _table(config)
    return _found((one for one in _candidates(table, _trusted(config)) if not one.own), table)


def _table(config: Config) -> PluginsTable:
    """Give what counts: all that the user says, and what a project's file enables.

    Among the plugins are those that guard the user, so a project's file takes none away.
    """
    own, brought = (part.section(PluginsTable, "plugins") for part in (config.own, config.brought))
    return PluginsTable(tuple(dict.fromkeys(own.enable + brought.enable)), own.disable)


def _trusted(config: Config) -> Collection[str]:
    """What the user enables; a path that only a project's file names is not followed."""
    return config.own.section(PluginsTable, "plugins").enable


def _found(candidates: Iterable[_Candidate], table: PluginsTable) -> Discovery:
    plugins: dict[str, Plugin] = {}
    absent: list[PluginState] = []
    for candidate in candidates:
        found = _judged(candidate, table, plugins)
        if isinstance(found, Plugin):
            plugins[found.name] = found
        else:
            absent.append(found)
    return Discovery(tuple(plugins.values()), tuple(absent))


async def survey(config: Config, found: Discovery | None = None) -> list[PluginState]:
    """Start everything that is found, list the states, and stop it again: what `everlog plugins` shows.

    `found` is what `discover` gives unless it is handed in.
    """
    found = found or discover(config)
    async with Kernel(found.plugins, config, found.absent) as kernel:
        return kernel.states()


def _candidates(table: PluginsTable, own: Collection[str]) -> Iterator[_Candidate]:
    points = sorted(entry_points(group=GROUP), key=lambda point: (not _is_own(point), point.name))
    for point in points:
        yield _Candidate(point.name, point.value, point.load, own=_is_own(point))
    installed = {point.name for point in points}
    for name in table.enable:
        if ":" in name and name not in own:
            yield _Candidate(name, name, partial(_not_by_project, name))
        elif ":" in name:
            yield _Candidate(name, name, partial(_imported, name), named=True)
        elif name not in installed:
            yield _Candidate(name, "", partial(_not_installed, name, installed))
    for name in table.disable:
        if name not in installed and name not in table.enable:
            yield _Candidate(name, "", lambda: None)


def _judged(candidate: _Candidate, table: PluginsTable, taken: dict[str, Plugin]) -> Plugin | PluginState:
    """The plugin that a candidate leads to, or why it is not to be loaded."""
    name, source = candidate.name, candidate.source
    if name in table.disable:
        return PluginState(name, Status.DISABLED, "named in [plugins] disable", source=source)
    try:
        plugin = _loaded(candidate, taken)
    except Exception as error:
        return PluginState(name, Status.FAILED, reason_of(error), source=source)
    if not plugin.enabled and not candidate.named and name not in table.enable:
        reason = f'off by default: add it with [plugins] enable = ["{name}"]'
        return _with_status(plugin, Status.DISABLED, reason)
    if plugin.name in table.disable:
        return _with_status(plugin, Status.DISABLED, "named in [plugins] disable")
    return plugin


def _loaded(candidate: _Candidate, taken: dict[str, Plugin]) -> Plugin:
    plugin = candidate.load()
    if not isinstance(plugin, Plugin):
        raise PluginInvalid(candidate.name, f"{candidate.source} is not a Plugin: make it one with @plugin")
    if not candidate.named and plugin.name != candidate.name:
        raise PluginInvalid(candidate.name, f"calls itself {plugin.name}: the entry point must have that name")
    if other := taken.get(plugin.name):
        raise PluginInvalid(plugin.name, f"its name is taken by {other.source}")
    return plugin


def _with_status(plugin: Plugin, status: Status, reason: str) -> PluginState:
    return state_of(Life(plugin, 0, status, reason), ())


def _is_own(point: EntryPoint) -> bool:
    return point.value.startswith("everlog.")


def _imported(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _not_by_project(name: str) -> object:
    raise PluginInvalid(name, "is named by the project's file; code to run is named in your own configuration only")


def _not_installed(name: str, installed: set[str]) -> object:
    known = ", ".join(sorted(installed)) or "none"
    raise PluginInvalid(name, f"is not installed; `enable` knows {known}, or takes module:name")
