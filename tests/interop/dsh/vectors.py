"""The shared vectors: logs of DeepSeek Harness and that program's own answers about them.

They lie beside the repository and are not a part of it. Where they are absent, the tests that rest on them are
skipped and say so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from everlog.interop import dsh
from everlog.interop.dsh.header import session_header
from everlog.interop.dsh.packed import PACKED, unpack
from everlog.interop.dsh.rows import Row
from everlog.interop.dsh.translation import Attempts, data_here, op_here, type_here
from everlog.session import FormatUnsupported, Recording, Session, SessionCorrupt
from everlog.session.log import Log
from everlog.session.repair import closers

ROOT = Path(__file__).parents[3]
FOLDER = ROOT.parent / "shared" / "vectors" / "dsh-v0"
PRESENT = (FOLDER / "index.json").exists()

needed = pytest.mark.skipif(not PRESENT, reason="the shared vectors are not beside this repository")


def cases(items: Iterable[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Parameters for a test; one that is skipped, and says why, where the vectors are absent."""
    return [pytest.param(item, id=name(item)) for item in items] or [pytest.param(None, marks=needed, id="absent")]


@cache
def load(name: str) -> Any:
    """One of the JSON files of the set; nothing where the set is absent."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_bytes()) if path.exists() else {}


def session_bytes(name: str) -> bytes:
    return (FOLDER / "sessions" / f"{name}.jsonl").read_bytes()


@cache
def recording(name: str) -> dsh.DshRecording:
    return dsh.read(session_bytes(name))


def names(refused: bool) -> list[str]:
    """The sessions of the set that the program refuses, or the others."""
    return sorted(name for name, entry in load("index").items() if entry["refused"] is refused)


def rows(data: bytes) -> list[Row]:
    """The rows of a file, packed ones unpacked, as the program has them in memory."""
    found: list[Row] = []
    for line in data.split(b"\n")[1:]:
        row = json.loads(line) if line else None
        if row is not None:
            found += unpack(row) if row["type"] in PACKED else [row]
    return found


def file_of(header: bytes, events: Iterable[Row]) -> bytes:
    """A file with one row per line."""
    return b"".join(line + b"\n" for line in [header, *(json.dumps(row).encode() for row in events)])


def kind_of_refusal(name: str) -> type[Exception]:
    """Our error for the class of that program's: an unsupported format is one thing, all else is damage."""
    return FormatUnsupported if name == "SessionFormatUnsupportedError" else SessionCorrupt


def bytes_of(base64_text: str | None) -> bytes:
    return base64.b64decode(base64_text or "")


# -- closers


class Closed:
    """The closers of a log as that program has them: without the interrupted prefix, which it does not write.

    Attributes:
        closers: each in the short form of the vectors, without the id of its message.
        surface: the nodes after them.
    """

    def __init__(self, log: Log) -> None:
        events = closers(log)
        prefix = events[0].seq if events and events[0].type == "assistant/message" else None
        whole = Recording(log.header, [*log.events, *events])

        def shifted(seq: int) -> int:
            return seq if prefix is None or seq < prefix else seq - 1

        self.closers = [
            {**short(json.loads(event.to_json())), "seq": shifted(event.seq)} for event in events if event.seq != prefix
        ]
        self.surface = [shifted(seq) for seq in whole.surface.nodes if seq != prefix]


def short(event: dict[str, Any]) -> dict[str, Any]:
    """The short form of a closer, of a whole event or of one that has it."""
    data = event["data"]
    result = {key: event[key] for key in ("type", "seq", "time")}
    if event["type"] != "tool/result":
        return {**result, "data": data}
    if "message" in data:
        block = data["message"]["content"][0]
        data = {
            "turn": data["turn"],
            "step": data["step"],
            "code": data["error"]["code"],
            "callId": block["toolCallId"],
            "isError": block["isError"],
        }
    data = {"isError": True} | {key: value for key, value in data.items() if key != "messageId"}
    cites = event.get("cites", event.get("sourceEventSeqs"))
    return {**result, "data": data, "cites": cites}


# -- appending


def session_for(header: dict[str, Any]) -> Session:
    return Session.create(session_header(header, []), clock=lambda: 0)


class Appender:
    """Appends that program's rows to one of our sessions, with everything of them that an append can be given."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._attempts = Attempts()

    def append(self, row: Row) -> None:
        """Append a row, or what a packed one stands for. Raises AppendRefused, or ValueError for what is no row."""
        for one in unpack(row) if row.get("type") in PACKED else [row]:
            type = type_here(one["type"])
            data = data_here(type, one.get("data"), self._attempts.at(type), 0)
            mark = {"ignorable": one["ignorable"]} if "ignorable" in one else {}
            self.session._clock = lambda row=one: row.get("time")  # type: ignore[misc]
            op = op_here(one.get("surfaceOp"), ("start", "end"))
            self.session.append_json(type, data, op, one.get("sourceEventSeqs"), **mark)
