"""The provider `script`: answers from a list instead of a model, for tests and demonstrations.

A script is a YAML file or a Python list with one answer for each request. An answer is a text, a mapping with
one part, or a list of parts, which are given in their order (docs/providers.md tells all of them):

    - It says hello.                                    # the whole answer is this text
    - - reasoning: The test fails, so look at the code.
      - text: I will read the file.
      - call: {name: read, arguments: {file_path: stats.py}}    # an id, or arguments as raw text, if wanted
      - call: {name: bash, arguments: {command: pytest -q}}
      - pause: 200                                      # milliseconds
      - usage: {inputTokens: 900, outputTokens: 40}
      - finish: max-tokens                              # otherwise tool-calls or stop
    - fail: {code: RATE_LIMIT, status: 429, retryAfterMs: 50}   # and message, if wanted

Text and reasoning come in pieces of a word each. Nothing here pretends to be a model: the configuration of
every request says `scripted: true`, the route's notice says where the answers come from, and no usage is told
that the script does not state.
"""

from __future__ import annotations

import asyncio
import re
import reprlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import yaml

from everlog.errors import EverlogError
from everlog.kernel import Context, Plugin, plugin
from everlog.llm import deltas
from everlog.llm.failure import BAD_REQUEST, SERVER, ModelFailure
from everlog.llm.models import Models, UnknownModel
from everlog.llm.seam import BlobReader, Route
from everlog.session.jsonvalue import encode, scrub
from everlog.session.payloads import Usage
from everlog.session.records import Delta
from everlog.session.request import Request

Part: TypeAlias = "str | Mapping[str, Any]"
Answer: TypeAlias = "Part | Sequence[Part]"

PARTS = ("reasoning", "text", "call", "pause", "usage", "finish", "fail")
_LONGEST_PAUSE = 86_400_000
"""Milliseconds: a day."""
_DEEPEST = 100
"""So deep a script may be nested: YAML is read by recursion, in C where there is libyaml."""
_AT_ONCE = 32
"""Without a pace, so many pieces come before others have their turn, which costs more than a piece."""
_PIECE = re.compile(r"\s*\S+\s*|\s+")


class ScriptInvalid(EverlogError):
    """A script that cannot be played; the text says which answer, and why."""


def read_script(path: Path) -> list[Answer]:
    """Read a script from a YAML file.

    Raises:
        ScriptInvalid: it cannot be read, is not YAML, is no list of answers, or has one that cannot be played.
    """
    try:
        found = _loaded(_text_of(path))
    except OSError as error:
        raise ScriptInvalid(f"script {path}: cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise ScriptInvalid(f"script {path}: is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError: it is not UTF-8, or holds a date that there is not
        raise ScriptInvalid(f"script {path}: is not YAML: {_told_fault(error)}") from None
    if not isinstance(found, list):
        raise ScriptInvalid(f"script {path}: must be a list of answers")
    for number, answer in enumerate(found, 1):
        try:
            _parts(answer)
        except ValueError as error:
            raise ScriptInvalid(f"script {path}: answer {number}: {error}") from None
    return found


def _text_of(path: Path) -> str:
    """Read a script. Raises OSError; ScriptInvalid for a pipe, which would be waited for, and for a device."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ScriptInvalid(f"script {path}: is not a file")
    return path.read_text(encoding="utf-8")


def _loaded(text: str) -> object:
    """Parse YAML, by libyaml where it is there: it is ten times as fast. Raises YAMLError, RecursionError."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise RecursionError
    return yaml.load(text, Loader=loader)


def _told_fault(error: Exception) -> str:
    """Tell on one line what is wrong with the text of a file; YAML calls the text `"<unicode string>"`."""
    return " ".join(re.sub(r'\bin "<[^"]*>",', "at", str(error)).split())


def script_route(answers: Sequence[Answer], model: str = "script", pace_ms: int = 0) -> Route:
    """Make a route that gives these answers, `pace_ms` milliseconds between two pieces.

    Raises:
        ScriptInvalid: an answer is not of the form that the module describes.
    """
    return Route(
        adapter=ScriptAdapter(answers, pace_ms),
        provider="script",
        model=model,
        config={"provider": "script", "model": model, "scripted": True},
        notice=f"the answers come from a script ({model}), not from a model",
    )


def script_file_route(model: str) -> Route:
    """Make a route for `script/PATH`. Raises `ScriptInvalid` or `UnknownModel`."""
    path = Path(model).expanduser()
    if not path.exists():
        raise UnknownModel(f"script/{model}", "there is no such file", ["script/PATH-OF-A-YAML-FILE"])
    return script_route(read_script(path), model)


class ScriptAdapter:
    """Plays answers in order, one for each request.

    It begins behind as many answers as the first request holds of the assistant's messages, so that a session
    that is resumed in another process goes on where it was.
    """

    name = "script"
    version = "1"

    def __init__(self, answers: Sequence[Answer], pace_ms: int = 0) -> None:
        self._answers = []
        for number, answer in enumerate(answers, 1):
            try:
                self._answers.append(_parts(answer))
            except ValueError as error:
                raise ScriptInvalid(f"answer {number} of the script: {error}") from None
        self._pace = pace_ms / 1000
        self._next: int | None = None

    def encode(self, request: Request, blobs: BlobReader | None = None) -> bytes:
        """Give the canonical JSON of the request: nothing goes out."""
        return request.to_json()

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Give the next answer. Raises ModelFailure where the script says so, and when it has come to its end."""
        if self._next is None:
            self._next = sum(message.role == "assistant" for message in request.messages)
        number, self._next = self._next, self._next + 1
        if number >= len(self._answers):
            told = f"the script has {len(self._answers)} answers and this is request {number + 1}"
            raise ModelFailure(told, BAD_REQUEST)
        parts = self._answers[number]
        for index, (kind, value) in enumerate(parts):
            if kind == "pause":
                await asyncio.sleep(value / 1000)
            for at, delta in enumerate(_played(index, kind, value)):
                if self._pace or at % _AT_ONCE == 0:
                    await asyncio.sleep(self._pace)
                yield delta
        if not any(kind == "finish" for kind, _ in parts):
            calls = any(kind == "call" for kind, _ in parts)
            yield deltas.finish(deltas.TOOL_CALLS if calls else deltas.STOP)


@plugin(requires=(Models,))
async def script(ctx: Context) -> AsyncIterator[None]:
    """Lets `script/PATH` play a YAML file."""
    models = ctx[Models]
    ctx.at_end(models.add_provider("script", script_file_route))
    ctx.at_end(models.add_encoder(ScriptAdapter([])))
    yield


def scripted(scripts: Mapping[str, Sequence[Answer]], pace_ms: int = 0) -> Plugin:
    """Make a plugin that plays Python lists: `script/NAME` for each; it takes the place of `script`.

    Raises:
        ScriptInvalid: an answer is not of the form that the module describes.
    """
    for name, answers in scripts.items():
        script_route(answers, name)

    def route(model: str) -> Route:
        if model not in scripts:
            raise UnknownModel(f"script/{model}", "there is no such script", sorted(scripts))
        return script_route(scripts[model], model, pace_ms)

    @plugin(name="script", requires=(Models,))
    async def body(ctx: Context) -> AsyncIterator[None]:
        """Plays scripts that a program gave."""
        models = ctx[Models]
        ctx.at_end(models.add_provider("script", route))
        ctx.at_end(models.add_encoder(ScriptAdapter([])))
        yield

    return body


def _parts(answer: object) -> list[tuple[str, Any]]:
    """Give an answer as (kind, value) pairs. Raises ValueError saying what is wrong."""
    parts = answer if isinstance(answer, list | tuple) else [answer]
    return [_part(part) for part in parts]


def _part(part: object) -> tuple[str, Any]:
    if isinstance(part, str):
        return "text", part
    if not isinstance(part, Mapping) or len(part) != 1 or next(iter(part)) not in PARTS:
        raise ValueError(f"a part is a text, or a mapping with one of {', '.join(PARTS)}; not {_told(part)}")
    kind, value = next(iter(part.items()))
    try:
        return kind, _CHECKS[kind](value)
    except _Wrong as wrong:
        raise ValueError(f"{kind}: {wrong}") from None
    except ValueError as error:  # of usage that is none, and of arguments that are no JSON
        raise ValueError(f"{kind}: {' '.join(str(error).split())}") from None


class _Wrong(Exception):
    """A value that cannot be played."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{_told(value)} is no text")
    return scrub(value)


def _pause(value: object) -> float:
    return _number(value, _LONGEST_PAUSE, "a number of milliseconds")


def _call(value: object) -> Mapping[str, Any]:
    given = _keys(value, ("name", "arguments", "id"))
    if not isinstance(given.get("name"), str):
        raise _Wrong("has no name")
    if not isinstance(given.get("id", ""), str | int):
        raise _Wrong(f"the id {_told(given['id'])} is no text")
    arguments = given.get("arguments", {})
    raw = scrub(arguments) if isinstance(arguments, str) else encode(arguments).decode()
    return {"name": scrub(given["name"]), "id": scrub(str(given.get("id", ""))), "arguments": raw}


def _usage(value: object) -> Usage:
    if not isinstance(value, Mapping):
        raise _Wrong(f"{_told(value)} is no mapping")
    for name, tokens in value.items():
        if not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 <= tokens < 1 << 53:
            raise _Wrong(f"{name}: {_told(tokens)} is no number of tokens")
    return msgspec.convert(value, Usage)


def _finish(value: object) -> str:
    if value not in deltas.REASONS:
        raise _Wrong(f"{_told(value)} is none of {', '.join(deltas.REASONS)}")
    return str(value)


def _fail(value: object) -> ModelFailure:
    given = _keys(value, ("code", "message", "status", "retryAfterMs"))
    code = _text(given.get("code", SERVER))
    message = _text(given.get("message", f"the script fails here with {code}"))
    status, wait = given.get("status"), given.get("retryAfterMs")
    if status is not None and (type(status) is not int or not 100 <= status <= 599):
        raise _Wrong(f"the status {_told(status)} is none of HTTP")
    if wait is not None:
        wait = int(_number(wait, _LONGEST_PAUSE, "a number of milliseconds to wait"))
    return ModelFailure(message, code, status=status, retry_after_ms=wait)


def _keys(value: object, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _Wrong(f"{_told(value)} is no mapping with {', '.join(known)}")
    for key in value:
        if key not in known:
            raise _Wrong(f"{_told(key)} is none of {', '.join(known)}")
    return value


def _number(value: object, most: float, what: str) -> float:
    """Check a number; comparing keeps out what is not one, and what no float can hold."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        raise _Wrong(f"{_told(value)} is not {what} from 0 to {most:,}")
    return float(value)


def _told(value: object) -> str:
    return reprlib.repr(value)


_CHECKS: dict[str, Callable[[object], Any]] = {
    "reasoning": _text,
    "text": _text,
    "call": _call,
    "pause": _pause,
    "usage": _usage,
    "finish": _finish,
    "fail": _fail,
}


def _played(index: int, kind: str, value: Any) -> Iterator[Delta]:
    match kind:
        case "text" | "reasoning":
            make = deltas.text if kind == "text" else deltas.reasoning
            yield from (make(index, piece) for piece in _PIECE.findall(value))
            yield deltas.block_end(index)
        case "call":
            yield deltas.call(index, value["arguments"], value["id"] or f"call_{index}", value["name"])
            yield deltas.block_end(index)
        case "usage":
            yield deltas.usage(value)
        case "finish":
            yield deltas.finish(value)
        case "fail":
            raise value
