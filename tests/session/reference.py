"""A naive model of a session: a list of rows, and every question answered by looking through all of them.

It is written from the rules and not from the code: no state is kept, nothing is fast. Rows are JSON values.
"""

from __future__ import annotations

import json
from typing import Any

from everlog.session import CORE

Row = dict[str, Any]

SURFACE = ("system/message", "developer/message", "user/message", "assistant/message", "tool/result")
IN_STEP = ("request/header", "request/context")
IN_TURN = ("todo/write", "workspace/snapshot")
_NAMES_STEP = """
    system/message developer/message request/sent assistant/chunk assistant/message assistant/attempt llm/retry
    tool/call tool/settled tool/result
"""
NAMES_STEP = _NAMES_STEP.split()


def row_of(event: Any) -> Row:
    row: Row = json.loads(event.to_json())
    return row


# -- where the log stands


def is_append(row: Row) -> bool:
    return row.get("surfaceOp") == "append"


def open_turn(rows: list[Row]) -> int | None:
    turn = None
    for row in rows:
        if row["type"] == "turn/start":
            turn = row["data"]["turn"]
        if row["type"] == "turn/end":
            turn = None
    return turn


def turns_begun(rows: list[Row]) -> int:
    return sum(row["type"] == "turn/start" for row in rows)


def this_turn(rows: list[Row]) -> list[Row]:
    """The rows since the last turn/start, with it."""
    starts = [at for at, row in enumerate(rows) if row["type"] == "turn/start"]
    return rows[starts[-1] :] if starts else []


def steps_begun(rows: list[Row]) -> int:
    return sum(row["type"] == "step/start" for row in this_turn(rows))


def open_step(rows: list[Row]) -> tuple[int, int] | None:
    step = None
    for row in rows:
        if row["type"] == "step/start":
            step = (row["data"]["turn"], row["data"]["step"])
        if row["type"] == "step/end":
            step = None
    return step


def this_step(rows: list[Row]) -> list[Row]:
    """The rows of the open step; none when no step is open."""
    if open_step(rows) is None:
        return []
    return rows[max(at for at, row in enumerate(rows) if row["type"] == "step/start") :]


# -- attempts


def attempts(rows: list[Row]) -> list[dict[str, Any]]:
    """The attempts of the open step, each with how far it came: running, ended, retried or answered."""
    found: list[dict[str, Any]] = []
    for row in this_step(rows):
        kind, number = row["type"], row["data"].get("attempt") if isinstance(row["data"], dict) else None
        if kind in ("request/sent", "assistant/chunk", "assistant/attempt", "llm/retry"):
            if not found or found[-1]["attempt"] != number:
                found.append({"attempt": number, "is": "running"})
            if kind == "assistant/attempt":
                found[-1]["is"] = "ended"
            if kind == "llm/retry":
                found[-1]["is"] = "retried"
        if kind == "assistant/message" and is_append(row):
            if not found or found[-1]["is"] != "running":
                found.append({"attempt": len(found) + 1, "is": "running"})
            found[-1]["is"] = "answered"
    return found


def may_begin(rows: list[Row], number: int | None) -> bool:
    had = attempts(rows)
    if had and had[-1]["is"] != "retried":
        return False
    return number is None or number == len(had) + 1


def is_running(rows: list[Row], number: int | None = None) -> bool:
    had = attempts(rows)
    return bool(had) and had[-1]["is"] == "running" and number in (None, had[-1]["attempt"])


# -- calls


def call_id(data: Row) -> str:
    found: str = data["message"]["content"][0]["toolCallId"]
    return found


def asked(rows: list[Row]) -> list[str]:
    """The ids of the call blocks of the open step's answer."""
    return [
        block["id"]
        for row in this_step(rows)
        if row["type"] == "assistant/message" and is_append(row)
        for block in row["data"]["message"]["content"]
        if block["type"] == "tool-call"
    ]


def of_step(rows: list[Row], type: str) -> list[Row]:
    return [row for row in this_step(rows) if row["type"] == type and row.get("surfaceOp") in (None, "append")]


def taken(rows: list[Row]) -> list[str]:
    return [row["data"]["callId"] for row in of_step(rows, "tool/call")]


def answered(rows: list[Row]) -> list[str]:
    return [call_id(row["data"]) for row in of_step(rows, "tool/result")]


def pending(rows: list[Row]) -> list[str]:
    done = answered(rows)
    return [id for id in asked(rows) if id not in done]


def settled(rows: list[Row]) -> dict[str, Row]:
    return {call_id(row["data"]): row["data"] for row in of_step(rows, "tool/settled")}


# -- the surface


def surface(rows: list[Row]) -> list[int]:
    nodes: list[int] = []
    for row in rows:
        nodes = placed(rows, nodes, row)
    return nodes


def placed(rows: list[Row], nodes: list[int], row: Row) -> list[int]:
    op = row.get("surfaceOp")
    if op is None:
        return nodes
    if op == "append":
        return [row["seq"], *nodes] if row["type"] == "system/message" else [*nodes, row["seq"]]
    start, end = nodes.index(op["startSeq"]), nodes.index(op["endSeq"])
    return [*nodes[:start], row["seq"], *nodes[end + 1 :]]


def generation(rows: list[Row]) -> int:
    return sum(isinstance(r.get("surfaceOp"), dict) or (r["type"] == "system/message" and is_append(r)) for r in rows)


def messages(rows: list[Row]) -> list[Row]:
    found = [message_of(rows[seq]) for seq in surface(rows)]
    return [message for message in found if message["content"] or message["role"] != "assistant"]


def message_of(row: Row) -> Row:
    found: Row = row["data"] if row["type"] == "user/message" else row["data"]["message"]
    return found


# -- compaction


def compaction(rows: list[Row]) -> dict[str, Any] | None:
    """The open compaction: its start, its summary, and whether that landed."""
    own: dict[str, Any] | None = None
    for row in rows:
        data = row["data"]
        if row["type"] == "compaction/start":
            own = {"start": data, "summary": None, "landed": False}
        if row["type"] in ("compaction/end", "session/end-seed"):
            own = None
        if row["type"] == "turn/end" and data["reason"]["kind"] in ("interrupted", "forked"):
            own = None
        if own and row["type"] == "compaction/summary":
            own["summary"] = data
        if own and row["type"] == "user/message" and not is_append(row) and named_compaction(data):
            own["landed"] = True
    return own


def named_compaction(message: Row) -> str | None:
    source = message["source"]
    return source.get("compactionId") if source.get("kind") == "plugin" else None


# -- what may be appended


def allows(rows: list[Row], row: Row) -> bool:
    """Tell whether a row of the right shape may join the rows."""
    if row["type"] not in CORE:
        return row.get("ignorable") is True and row.get("surfaceOp") is None and row.get("sourceEventSeqs") is None
    on_surface = row["type"] in SURFACE
    if on_surface != (row.get("surfaceOp") is not None):
        return False
    sources = row.get("sourceEventSeqs")
    if sources is not None and not (on_surface and sound_sources(row, sources)):
        return False
    if isinstance(row.get("surfaceOp"), dict):
        return allows_replace(rows, row)
    return stands(rows, row) and ruled(rows, row)


def sound_sources(row: Row, sources: list[int]) -> bool:
    if not sources:
        return row["type"] == "assistant/message"
    return len(set(sources)) == len(sources) and all(0 <= seq < row["seq"] for seq in sources)


def stands(rows: list[Row], row: Row) -> bool:
    """Tell whether a row that replaces nothing stands where its type may."""
    kind, data = row["type"], row["data"]
    if kind in IN_TURN and open_turn(rows) is None:
        return False
    if kind in IN_STEP and open_step(rows) is None:
        return False
    if kind in NAMES_STEP and open_step(rows) != (data["turn"], data["step"]):
        return False
    if kind in SURFACE and kind != "tool/result" and pending(rows):
        return False
    return kind != "system/message" or not any(rows[seq]["type"] == kind for seq in surface(rows))


def ruled(rows: list[Row], row: Row) -> bool:
    kind, data = row["type"], row["data"]
    verdict = RULES.get(kind)
    return True if verdict is None else bool(verdict(rows, data))


def _turn_start(rows: list[Row], data: Row) -> bool:
    return open_turn(rows) is None and data["turn"] == turns_begun(rows) + 1 and compaction(rows) is None


def _turn_end(rows: list[Row], data: Row) -> bool:
    leaves = data["reason"]["kind"] in ("interrupted", "forked")
    crossed = compaction(rows) is not None and not leaves
    return open_turn(rows) == data["turn"] and open_step(rows) is None and not crossed


def _step_start(rows: list[Row], data: Row) -> bool:
    in_turn = open_turn(rows) is not None and open_turn(rows) == data["turn"]
    return in_turn and open_step(rows) is None and data["step"] == steps_begun(rows) + 1


def _step_end(rows: list[Row], data: Row) -> bool:
    return open_step(rows) == (data["turn"], data["step"]) and not pending(rows)


def _sent(rows: list[Row], data: Row) -> bool:
    return not is_running(rows) and may_begin(rows, data["attempt"])


def _chunk_or_attempt(rows: list[Row], data: Row) -> bool:
    return is_running(rows, data["attempt"]) if is_running(rows) else may_begin(rows, data["attempt"])


def _message(rows: list[Row], data: Row) -> bool:
    return is_running(rows) or may_begin(rows, None)


def _retry(rows: list[Row], data: Row) -> bool:
    had = attempts(rows)
    if had and had[-1]["is"] == "ended":
        return bool(data["attempt"] == had[-1]["attempt"])
    return _chunk_or_attempt(rows, data)


def _call(rows: list[Row], data: Row) -> bool:
    return data["callId"] in pending(rows) and data["callId"] not in taken(rows)


def _settled(rows: list[Row], data: Row) -> bool:
    id = call_id(data)
    return id in pending(rows) and id in taken(rows) and id not in settled(rows)


def _result(rows: list[Row], data: Row) -> bool:
    id = call_id(data)
    if pending(rows)[:1] != [id]:
        return False
    if id not in taken(rows) and (data.get("error") or {}).get("code") != "TOOL_NOT_STARTED":
        return False
    before = settled(rows).get(id)
    return before is None or all(before.get(key) == data.get(key) for key in ("message", "error", "meta"))


def _asked(rows: list[Row], data: Row) -> bool:
    return all(row["data"]["id"] != data["id"] for row in rows if row["type"] == "approval/asked")


def _decided(rows: list[Row], data: Row) -> bool:
    ids = {
        type: [r["data"]["id"] for r in rows if r["type"] == type] for type in ("approval/asked", "approval/decided")
    }
    return data["id"] in ids["approval/asked"] and data["id"] not in ids["approval/decided"]


def _compaction_start(rows: list[Row], data: Row) -> bool:
    return compaction(rows) is None and data["turn"] == open_turn(rows)


def _is_own(rows: list[Row], data: Row) -> bool:
    own = compaction(rows)
    return own is not None and own["start"]["compactionId"] == data["compactionId"]


def _same_command(rows: list[Row], data: Row) -> bool:
    own = compaction(rows)
    return own is not None and own["start"].get("sourceCommandId") == data.get("sourceCommandId")


def _shadows(data: Row) -> bool:
    return bool(data["shadowedSeqs"]) and data["shadowedTokens"] >= 0


def _summary(rows: list[Row], data: Row) -> bool:
    own = compaction(rows)
    return (
        _is_own(rows, data)
        and own is not None
        and own["summary"] is None
        and _same_command(rows, data)
        and _shadows(data)
    )


def _prune(rows: list[Row], data: Row) -> bool:
    named = data.get("compactionId") is not None
    if named and not _is_own(rows, data):
        return False
    return (named or open_turn(rows) is not None) and _shadows(data)


def _compaction_end(rows: list[Row], data: Row) -> bool:
    own = compaction(rows)
    if own is None or not _is_own(rows, data) or not _same_command(rows, data):
        return False
    return own["start"]["turn"] == data["turn"] and (data.get("error") is not None or own["landed"])


RULES: dict[str, Any] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step_start,
    "step/end": _step_end,
    "request/sent": _sent,
    "assistant/chunk": _chunk_or_attempt,
    "assistant/message": _message,
    "assistant/attempt": _chunk_or_attempt,
    "llm/retry": _retry,
    "tool/call": _call,
    "tool/settled": _settled,
    "tool/result": _result,
    "approval/asked": _asked,
    "approval/decided": _decided,
    "compaction/start": _compaction_start,
    "compaction/summary": _summary,
    "compaction/prune": _prune,
    "compaction/end": _compaction_end,
}


# -- what may replace


def allows_replace(rows: list[Row], row: Row) -> bool:
    nodes, op = surface(rows), row["surfaceOp"]
    if op["startSeq"] not in nodes or op["endSeq"] not in nodes:
        return False
    start, end = nodes.index(op["startSeq"]), nodes.index(op["endSeq"])
    shadowed = nodes[start : end + 1]
    if not shadowed or not set(shadowed) <= set(row.get("sourceEventSeqs") or ()):
        return False
    types = [rows[seq]["type"] for seq in shadowed]
    if row["type"] == "system/message":
        if types != ["system/message"]:
            return False
    elif "system/message" in types:
        return False
    if row["type"] == "user/message":
        return keeps_pairs(rows, nodes, shadowed) and lands(rows, row["data"], shadowed)
    if not keeps_place(rows, row, shadowed):
        return False
    if row["type"] == "tool/result":
        return rewrites(rows, row, shadowed)
    return keeps_pairs(rows, nodes, shadowed)


def keeps_pairs(rows: list[Row], nodes: list[int], shadowed: list[int]) -> bool:
    """No call is parted from its result, nor taken out of the view while it waits for one."""
    for at, seq in enumerate(nodes):
        if rows[seq]["type"] == "tool/result":
            id = call_id(rows[seq]["data"])
            caller = next(n for n in reversed(nodes[:at]) if asks(rows[n], id))
            if (seq in shadowed) != (caller in shadowed):
                return False
    return not any(asks(rows[seq], id) for id in pending(rows) for seq in shadowed)


def asks(row: Row, id: str) -> bool:
    blocks = message_of(row)["content"] if row["type"] == "assistant/message" else []
    return any(block["type"] == "tool-call" and block["id"] == id for block in blocks)


def keeps_place(rows: list[Row], row: Row, shadowed: list[int]) -> bool:
    """A replacement names the turn and step of something that it replaces, where that names any."""
    places = [(d["turn"], d["step"]) for d in (rows[seq]["data"] for seq in shadowed) if "turn" in d and "step" in d]
    return not places or (row["data"]["turn"], row["data"]["step"]) in places


def rewrites(rows: list[Row], row: Row, shadowed: list[int]) -> bool:
    """A result replaces one result of its call, changes its content only, and between turns only in a compaction."""
    if len(shadowed) != 1 or rows[shadowed[0]]["type"] != "tool/result":
        return False
    old, new = json.loads(json.dumps(rows[shadowed[0]]["data"])), json.loads(json.dumps(row["data"]))
    for data in (old, new):
        data["message"]["content"][0].pop("content")
    return old == new and (open_turn(rows) is not None or compaction(rows) is not None)


def lands(rows: list[Row], message: Row, shadowed: list[int]) -> bool:
    """With a compaction open, a message that replaces is its one replacement; without one, it names none."""
    own, named = compaction(rows), named_compaction(message)
    if own is None:
        return named is None
    if named != own["start"]["compactionId"] or own["summary"] is None or own["landed"]:
        return False
    return sorted(own["summary"]["shadowedSeqs"]) == sorted(shadowed)


# -- what a provider takes


def conversation_faults(found: list[Row]) -> list[str]:
    """Say what is wrong with messages as a conversation; nothing for what every provider takes."""
    faults: list[str] = []
    owed: list[str] = []
    seen: list[str] = []
    for at, message in enumerate(found):
        blocks = message["content"]
        if not blocks:
            faults.append(f"message {at} is empty")
        results = [block["toolCallId"] for block in blocks if block["type"] == "tool-result"]
        if results:
            if results != owed[: len(results)]:
                faults.append(f"message {at} answers {results}, owed are {owed}")
            owed = owed[len(results) :]
            continue
        if owed:
            faults.append(f"message {at} stands before the results of {owed}")
        owed = [block["id"] for block in blocks if block["type"] == "tool-call"]
        faults += [f"call {id} is asked twice" for id in owed if id in seen]
        seen += owed
    return faults + ([f"{owed} are never answered"] if owed else [])
