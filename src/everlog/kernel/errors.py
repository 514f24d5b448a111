"""What can go wrong in the kernel, one class for each thing that a person or a program can act on."""

from pathlib import Path

from everlog.errors import EverlogError


class ServiceMissing(EverlogError, LookupError):
    """A service was asked for that nobody provides here now."""

    def __init__(self, service: type[object], reason: str) -> None:
        super().__init__(f"no {service.__name__} service: {reason}")
        self.service = service
        """The type that was looked up."""
        self.reason = reason
        """Why it is missing, and what it waits for when that is known."""


class ServiceConflict(EverlogError):
    """A second service of one type was provided in one place."""

    def __init__(self, service: type[object], place: str) -> None:
        super().__init__(f"{service.__name__} is provided already in {place}: end the first provider before the second")
        self.service = service
        """The type that has two providers."""


class ScopeClosed(EverlogError):
    """Something was registered in a scope that has ended, or is ending."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"{scope} has ended: nothing can be registered in it any more")
        self.scope = scope
        """The name of the scope."""


class PluginInvalid(EverlogError):
    """A plugin breaks its own declaration, or a name does not lead to a plugin."""

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(f"plugin {plugin}: {problem}")
        self.plugin = plugin
        """The plugin's name."""
        self.problem = problem
        """What is wrong with it."""


class ConfigError(EverlogError):
    """A configuration file cannot be read, is not TOML, or holds a value that nobody can use."""

    def __init__(self, path: Path | None, line: int | None, problem: str) -> None:
        where = str(path) if path else "configuration"
        super().__init__(f"{where}:{line}: {problem}" if line else f"{where}: {problem}")
        self.path = path
        """The file, or None for a configuration that was not read from one."""
        self.line = line
        """The line, from 1, or None when the fault has no line of its own."""
        self.problem = problem
        """What is wrong there."""
