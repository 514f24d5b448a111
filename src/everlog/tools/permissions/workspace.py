"""Where the paths of a call lead: into the workspace or out of it, links followed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from everlog.tools.files import quoted, resolve
from everlog.tools.hooks import ToolUse
from everlog.tools.seam import ToolFailure


@dataclass(frozen=True)
class Place:
    """Where one path of a call leads.

    Attributes:
        path: the absolute path, with every link followed.
        inside: whether it lies in the workspace.
        subject: what rules match: relative to the workspace, or absolute outside of it.
        guarded: whether it lies in a `.git` folder, whose files can make Git run commands.
    """

    path: str
    inside: bool
    subject: str
    guarded: bool

    @property
    def shown(self) -> str:
        """The path for a person."""
        return quoted(self.subject)


def places_of(use: ToolUse) -> list[Place]:
    """Give where each path among the arguments leads; a tool without paths has none."""
    return [_place(use, text) for name in use.tool.paths for text in _texts(_argument(use, name))]


def _argument(use: ToolUse, name: str) -> object:
    """Give an argument, or what the tool takes when it is left out."""
    properties = use.tool.parameters.get("properties")
    parameter = properties.get(name) if isinstance(properties, dict) else None
    default = parameter.get("default") if isinstance(parameter, dict) else None
    return use.arguments.get(name, default)


def _texts(value: object) -> list[str]:
    """Give the paths of an argument; the name of a blob is looked at as any path, since most tools take it for one."""
    if isinstance(value, str):
        return [value]
    return [text for item in value for text in _texts(item)] if isinstance(value, list | tuple) else []


def _place(use: ToolUse, text: str) -> Place:
    root = os.path.realpath(use.context.cwd)
    try:
        path = os.path.realpath(resolve(use.context, text))
    except (ToolFailure, OSError, ValueError):
        return Place(text, False, text, False)
    inside = path == root or Path(path).is_relative_to(root)
    subject = os.path.relpath(path, root) if inside else path
    return Place(path, inside, subject.replace(os.sep, "/"), _in_git(path))


def _in_git(path: str) -> bool:
    """Tell whether a path lies in a `.git` folder, however a file system that knows no case may spell it."""
    return any(part.casefold() == ".git" for part in Path(path).parts)
