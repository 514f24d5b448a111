"""Asking a person before a call runs: the question and the answer are events, and no answer means no."""

from __future__ import annotations

import asyncio
import logging
import uuid

from everlog.kernel import Scope
from everlog.session.jsonvalue import scrub
from everlog.session.payloads import ApprovalAsked, ApprovalDecided
from everlog.session.views import json_raw
from everlog.tools.hooks import ALWAYS, Allow, Ask, Deny, ToolUse
from everlog.tools.seam import Answer, Approver, Question

_log = logging.getLogger("everlog.tools")


async def consent(use: ToolUse, scope: Scope, ask: Ask) -> Allow | Deny:
    """Put the question to the approver that is seen from the scope, and record both question and answer."""
    question = Question(
        id=str(uuid.uuid4()),
        tool=use.tool.name,
        call_id=use.call.id,
        arguments=use.given,
        reason=ask.reason,
        subject=use.subject,
        rule=ask.rule,
    )
    _record(use, ApprovalAsked(id=question.id, tool_name=question.tool, call_id=question.call_id, reason=ask.reason))
    try:
        await use.context.flush()
        answer = await _answer(question, scope)
    except asyncio.CancelledError:
        _record(use, ApprovalDecided(id=question.id, outcome="cancelled"))
        raise
    outcome = "allowed-once" if answer.outcome == "allowed-always" and ask.rule is None else answer.outcome
    if outcome == "allowed-always":
        rule = json_raw({"rule": ask.rule, "forGood": answer.for_good})
        _record(use, ApprovalDecided(id=question.id, outcome=outcome, rule_json=rule))
        if answer.for_good and ask.rule is not None:
            ALWAYS.emit(scope, ask.rule)
        return Allow()
    _record(use, ApprovalDecided(id=question.id, outcome=outcome))
    return Allow() if outcome == "allowed-once" else Deny(_refused(answer, ask))


async def _answer(question: Question, scope: Scope) -> Answer:
    if Approver not in scope:
        return Answer("unavailable")
    try:
        return await scope[Approver].approve(question)
    except Exception:
        _log.exception("the approver failed at a question about %s", question.tool)
        return Answer("unavailable")


def _refused(answer: Answer, ask: Ask) -> str:
    match answer.outcome:
        case "unavailable":
            return (
                f"Not permitted: {ask.reason}, and nobody is there to be asked. Do without it, or say what"
                " you would need."
            )
        case _:
            said = f" They said: {scrub(answer.note)}" if answer.note else " Do not try again; ask what to do instead."
            return f"The user did not permit this call.{said}"


def _record(use: ToolUse, payload: ApprovalAsked | ApprovalDecided) -> None:
    if use.context.session is not None:
        use.context.record(payload)
