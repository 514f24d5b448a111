"""Packed rows: one stored row for a run of stream deltas, each of which has a seq and a time of its own.

A row is taken only when it can be unpacked without a loss: exactly these keys, as many pauses as there are
gaps between members, and whole times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import cast

from everlog.interop.dsh.jsontext import is_count, is_integer
from everlog.interop.dsh.rows import Row

_ENVELOPE = {"type", "seq0", "time0", "data"}
_COMMON = {"turn", "step", "index", "dt"}
_DELTAS = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}

PACKED = frozenset(_DELTAS)


def unpack(row: Row) -> list[Row]:
    """Give the `assistant/chunk` rows that a packed row stands for, one per delta.

    Raises:
        ValueError: the row is not of the packed form.
    """
    if row.keys() != _ENVELOPE or not is_count(row["seq0"]) or not is_integer(row["time0"]):
        raise ValueError("a packed row has exactly type, seq0, time0 and data")
    data = row["data"]
    members = _members(row["type"], data)
    pauses = data["dt"]
    if not isinstance(pauses, list) or len(pauses) != len(members) - 1 or not all(map(is_integer, pauses)):
        raise ValueError("dt holds one whole number for each gap between members")
    times = list(accumulate(pauses, initial=row["time0"]))
    if not all(map(is_integer, times)):
        raise ValueError("the times of the members are whole numbers")
    return list(_rows(row, members, times))


def _members(type: str, data: object) -> list[str]:
    is_call = type == "tool-call-chunks"
    name = "args" if is_call else "texts"
    if not isinstance(data, dict) or data.keys() - {"name"} != _COMMON | {name} | ({"id"} if is_call else set()):
        raise ValueError(f"the data of {type} has other keys")
    if not all(is_integer(data[key]) for key in ("turn", "step", "index")):
        raise ValueError("turn, step and index are whole numbers")
    if is_call and not all(isinstance(data.get(key, ""), str) for key in ("id", "name")):
        raise ValueError("id and name are strings")
    if not is_call and "name" in data:
        raise ValueError(f"the data of {type} has no name")
    members = data[name]
    if not isinstance(members, list) or not members or not all(isinstance(part, str) for part in members):
        raise ValueError(f"{name} is a non-empty array of strings")
    return cast("list[str]", members)


def _rows(row: Row, members: list[str], times: Iterable[int]) -> Iterator[Row]:
    data = row["data"]
    common = {"type": _DELTAS[row["type"]], "index": data["index"]}
    if row["type"] == "tool-call-chunks":
        common |= {key: data[key] for key in ("id", "name") if key in data}
        part = "argumentsDelta"
    else:
        part = "text"
    for seq, (member, time) in enumerate(zip(members, times, strict=True), row["seq0"]):
        chunk = {"turn": data["turn"], "step": data["step"], "chunk": {**common, part: member}}
        yield {"type": "assistant/chunk", "seq": seq, "time": time, "data": chunk}
