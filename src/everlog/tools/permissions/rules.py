"""Rules: `tool(pattern)`, where `*` stands for any text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from everlog.errors import EverlogError

_FORM = re.compile(r"([\w.*-]+)(?:\((.*)\))?", re.DOTALL)
_CHAINING = r"[^;&|<>$`\n\r()]*"
"""What `*` stands for in a command that is to be permitted: no text that would begin another command."""


class RuleInvalid(EverlogError, ValueError):
    """A rule is not of the form `tool` or `tool(pattern)`."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the rule {text!r} is not of the form tool(pattern), like bash(git status*) or edit(src/*)")
        self.text = text


@dataclass(frozen=True)
class Rule:
    """One rule. `pattern` is matched with a call's subject: the command, the address, or each path.

    A path inside the workspace is relative to it; one outside is absolute, and is matched only by a pattern that
    begins with a slash. `\\*` is an asterisk.
    """

    tool: str
    pattern: str = "*"

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule. Raises RuleInvalid."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise RuleInvalid(text)
        return cls(found[1], "*" if found[2] is None else found[2])

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})"

    def catches(self, tool: str, subject: str) -> bool:
        """Tell whether a rule that takes permission away speaks of this; `*` stands for anything."""
        return self._is_for(tool) and self._loose.fullmatch(subject) is not None

    def permits(self, tool: str, subject: str) -> bool:
        """Tell whether a rule that permits speaks of this path, address or other text."""
        if subject.startswith("/") and not self.pattern.startswith("/"):
            return False
        return self.catches(tool, subject)

    def permits_command(self, tool: str, command: str) -> bool:
        """Tell whether a rule that permits speaks of this command; `*` does not stand for a second command."""
        if not self._is_for(tool):
            return False
        return self.pattern == "*" or self._strict.fullmatch(command) is not None

    def _is_for(self, tool: str) -> bool:
        return re.fullmatch(_translated(self.tool, ".*"), tool) is not None

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        return re.compile(_translated(self.pattern, ".*"), re.DOTALL)

    @cached_property
    def _strict(self) -> re.Pattern[str]:
        return re.compile(_translated(self.pattern, _CHAINING), re.DOTALL)


def _translated(pattern: str, any_text: str) -> str:
    parts: list[str] = []
    for part in re.findall(r"\\.|\*+|[^\\*]+|\\", pattern, re.DOTALL):
        if part.startswith("*"):
            parts.append(any_text)
        else:
            parts.append(re.escape(part[1:] if len(part) == 2 and part[0] == "\\" else part))
    return "".join(parts)
