"""What a plugin is given: its scope, the services that it required, its settings."""

from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from everlog.kernel.config import Config
from everlog.kernel.errors import PluginInvalid, ScopeClosed, ServiceMissing
from everlog.kernel.scope import Scope

T = TypeVar("T")


class Context(Scope):
    """A plugin's scope for one life: everything that is registered through it ends with the plugin.

    Registrations stand at the kernel's root, so everybody sees them. When the plugin stops, they are undone
    first, in reverse order, so that nothing new reaches it while the code after its `yield` runs.
    """

    def __init__(
        self,
        name: str,
        root: Scope,
        rank: int,
        config: Config,
        required: Mapping[type[object], object],
        provides: Iterable[type[object]],
    ) -> None:
        super().__init__(name, root._place, rank)
        self.config = config
        """The whole configuration."""
        self._required = required
        self._provides = frozenset(provides)
        self._offers: dict[type[object], object] = {}

    def settings(self, shape: type[T]) -> T:
        """This plugin's table, `[plugin.NAME]`, as a msgspec Struct; its defaults when there is no table.

        Raises ConfigError, naming file and line.
        """
        return self.config.section(shape, "plugin", self.name)

    def __getitem__(self, service: type[T]) -> T:
        """A service that this plugin requires, or one that it provides itself.

        It stays the same object for the whole life of the plugin. Raises ServiceMissing for any other type.
        """
        for held in (self._required, self._offers):
            if service in held:
                return cast(T, held[service])
        raise ServiceMissing(service, f"plugin {self.name} does not name it in `requires`")

    def __contains__(self, service: type[object]) -> bool:
        return service in self._required or service in self._offers

    def provide(self, service: type[T], value: T) -> None:
        """Offer a service that `provides` names. Others see it when the set-up has come to its `yield`.

        Raises PluginInvalid for an undeclared type or a second value, and ScopeClosed.
        """
        if service not in self._provides:
            raise PluginInvalid(self.name, f"provides {service.__name__} without naming it in `provides`")
        if service in self._offers:
            raise PluginInvalid(self.name, f"provides {service.__name__} twice")
        if self.closed:
            raise ScopeClosed(self.name)
        self._offers[service] = value

    def publish(self) -> None:
        """Make the offers visible: the kernel calls this when the set-up is done.

        Raises PluginInvalid when a promised service is missing, ServiceConflict, and ScopeClosed.
        """
        for service in self._provides - self._offers.keys():
            raise PluginInvalid(self.name, f"promises {service.__name__} in `provides` and did not provide it")
        for service, value in self._offers.items():
            super().provide(service, value)
