"""Plugins, services by type, typed hooks, scopes, discovery and configuration.

Knows nothing of agents, sessions or models, and imports no other room. `docs/plugins.md` is its guide.
"""

from everlog.kernel.config import Config
from everlog.kernel.context import Context
from everlog.kernel.discovery import Discovery, discover, survey
from everlog.kernel.errors import (
    ConfigError,
    PluginInvalid,
    ScopeClosed,
    ServiceConflict,
    ServiceMissing,
)
from everlog.kernel.hooks import Emit, Parallel, Serial, Waterfall
from everlog.kernel.kernel import Kernel
from everlog.kernel.life import Status
from everlog.kernel.plugin import Plugin, plugin
from everlog.kernel.scope import Registration, Registry, Scope
from everlog.kernel.states import PluginState

__all__ = [
    "Config",
    "ConfigError",
    "Context",
    "Discovery",
    "Emit",
    "Kernel",
    "Parallel",
    "Plugin",
    "PluginInvalid",
    "PluginState",
    "Registration",
    "Registry",
    "Scope",
    "ScopeClosed",
    "Serial",
    "ServiceConflict",
    "ServiceMissing",
    "Status",
    "Waterfall",
    "discover",
    "plugin",
    "survey",
]
