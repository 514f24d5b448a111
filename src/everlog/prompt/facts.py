"""Facts: what is so while a session runs, and what a model was told of it.

A message of facts stands in the log for each time that some of them were new. So the conversation only grows at
its tail, and what the model was told is what the log says: a fact is told again when it has changed, or when a
compaction has taken it from the model's view.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import AsyncIterator, Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from everlog.kernel import Context, Scope, plugin
from everlog.prompt.seam import Contexts, Fact
from everlog.session.event import Event, Replace
from everlog.session.jsonvalue import scrub
from everlog.session.log import Log
from everlog.session.messages import Message, PluginSource, user_message
from everlog.session.payloads import AssistantMessage, TodoWrite

PLUGIN = "facts"
_INDENT = "  "
_HEAD = "What is so as of now, instead of what was said of the same before:"

ToldState: TypeAlias = "dict[str, Any]"


class ToldFacts:
    """The projection: the message that told each fact last, by the fact's name, and the answer that wrote the plan."""

    name = "prompt/facts"
    version = 1

    def init(self) -> ToldState:
        """Give the state before any fact."""
        return {"told": {}, "answer": None, "plan": None}

    def apply(self, state: ToldState, event: Event) -> None:
        """Take one event in."""
        data = event.data if event.type in _TYPES else None
        match data:
            case Message(source=PluginSource(plugin="facts")) if event.surface_op == "append":
                state["told"].update(dict.fromkeys(_texts(data), event.seq))
            case AssistantMessage():
                state["answer"] = event.seq
            case TodoWrite():
                state["plan"] = state["answer"]

    def view(self, state: ToldState, log: Log) -> Told:
        """Give what the model has before it."""
        return Told(state, log)


_TYPES = frozenset({"user/message", "assistant/message", "todo/write"})


class Told:
    """What the model has before it.

    Attributes:
        texts: the text of each fact that was told and is still seen, by its name.
        sees_plan: whether the answer that wrote the to-do list last is still seen, or there is none.
    """

    def __init__(self, state: ToldState, log: Log) -> None:
        told = {name: seq for name, seq in state["told"].items() if _is_seen(log, seq)}
        texts = {event.seq: _texts(event.data) for event in log.events.pick(set(told.values()))}
        self.texts = {name: texts[seq][name] for name, seq in told.items()}
        self.sees_plan = state["plan"] is None or _is_seen(log, state["plan"])


def _is_seen(log: Log, seq: int) -> bool:
    return not log.surface.generation or log.surface.span(Replace(seq, seq)) is not None


def _texts(message: object) -> dict[str, str]:
    """Give the facts of a message: after the first line each begins one, `name: text`, and goes on in indented ones."""
    found: dict[str, str] = {}
    name = ""
    for line in message.text.split("\n")[1:] if isinstance(message, Message) else ():
        if line.startswith(_INDENT):
            found[name] = f"{found.get(name, '')}\n{line.removeprefix(_INDENT)}"
        else:
            name, _, text = line.partition(": ")
            found[name] = text
    return found


PROJECTION = ToldFacts()


def message_of(facts: list[Fact], scope: Scope, log: Log) -> Message | None:
    """Give the message that brings a model up to date, or None when it is."""
    told: Told = log.project(PROJECTION)
    now = [(fact.name, scrub((fact.text(log, scope) or "").strip())) for fact in facts]
    news = [(name, text) for name, text in now if text and told.texts.get(name) != text]
    if not news:
        return None
    lines = [_HEAD, *(f"{name}: " + text.replace("\n", f"\n{_INDENT}") for name, text in news)]
    return user_message("\n".join(lines), PluginSource(plugin=PLUGIN))


def workspace(log: Log, scope: Scope) -> str:
    """Give the folder that relative paths start from, and on what system it is."""
    return f"{log.header.cwd or os.getcwd()} ({platform.system()}); relative paths start from there"


def plan(log: Log, scope: Scope) -> str | None:
    """Give the to-do list, once the model no longer sees the call that wrote it."""
    if log.project(PROJECTION).sees_plan:
        return None
    return "the to-do list" + "".join(f"\n[{todo.status}] {todo.content}" for todo in log.project("todos"))


def git(log: Log, scope: Scope) -> str | None:
    """Give branch, commit and what is under way in the workspace's repository; read from its files, runs nothing."""
    folder = Path(log.header.cwd or os.getcwd())
    found = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)
    try:
        return None if found is None else _git(_git_folder(found / ".git"))
    except (OSError, ValueError):
        return None


def _git_folder(path: Path) -> Path:
    """Give the folder of a repository; that of a worktree is named by a file."""
    if path.is_dir():
        return path
    return path.parent / _line(path).removeprefix("gitdir: ")


def _git(folder: Path) -> str:
    head = _line(folder / "HEAD")
    common = folder / _line(folder / "commondir") if (folder / "commondir").exists() else folder
    name = head.removeprefix("ref: ")
    detached = name == head
    branch = "no branch" if detached else f"branch {_checked(_REF, name).removeprefix('refs/heads/')}"
    commit = head if detached else _commit(common, name)
    at = "no commit yet" if commit is None else f"commit {_checked(_HASH, commit)[:12]}"
    under_way = [what for mark, what in _UNDER_WAY.items() if (folder / mark).exists()]
    return ", ".join([branch, at, *under_way])


_UNDER_WAY = {
    "MERGE_HEAD": "a merge under way",
    "rebase-merge": "a rebase under way",
    "rebase-apply": "a rebase under way",
    "CHERRY_PICK_HEAD": "a cherry-pick under way",
}
_REF = re.compile(r"refs/(?!.*\.\.)[\w./+@=-]{1,200}")
_HASH = re.compile(r"[0-9a-f]{40,64}")


def _checked(form: re.Pattern[str], text: str) -> str:
    """Refuse what is not of the form: a repository that was unpacked may hold anything in its files."""
    if not form.fullmatch(text):
        raise ValueError(text)
    return text


def _commit(common: Path, name: str) -> str | None:
    loose = common / name
    if loose.is_file():
        return _line(loose)
    packed = common / "packed-refs"
    if not packed.is_file():
        return None
    now = packed.stat()
    return _packed(packed, name, (now.st_mtime_ns, now.st_size, now.st_ino))


@lru_cache(maxsize=16)
def _packed(path: Path, name: str, version: tuple[int, ...]) -> str | None:
    """Give the commit of a ref; the file may be of megabytes, and is read once in each version, not at each step."""
    with path.open(errors="replace") as file:
        return next((line.split()[0] for line in file if line.rstrip("\n").endswith(f" {name}")), None)


def _line(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open(errors="replace") as file:
        return file.readline(4096).strip()


def today(clock: Callable[[], date] = date.today) -> Callable[[Log, Scope], str]:
    """Make the fact of the date."""
    return lambda log, scope: clock().strftime("%A, %Y-%m-%d")


@plugin(name="facts", requires=(Contexts,))
async def facts(ctx: Context) -> AsyncIterator[None]:
    """Tells models the date, the workspace, its repository, and the plan when it went out of sight."""
    for fact in (Fact("date", today()), Fact("workspace", workspace), Fact("git", git), Fact("plan", plan)):
        ctx[Contexts].add_fact(fact, ctx)
    yield
