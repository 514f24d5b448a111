"""The points of the pipeline at which plugins take part, and what passes there.

A call goes through policy, guards, approval, execution and a last look at its output, in that order. Only the
policy can permit. Guards come after it and are given no means to permit anything: they refuse, or ask for a
person's consent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from everlog.kernel import Emit, Serial, Waterfall
from everlog.session.jsonvalue import JSONObject
from everlog.session.messages import ToolCall
from everlog.tools.seam import Arguments, Tool, ToolContext, ToolOutput


@dataclass
class Outcome:
    """What became of the tool once it began; it holds also when the caller is cancelled and gets no answer."""

    output: ToolOutput | None = None


@dataclass(frozen=True)
class ToolUse:
    """One call whose tool is known and whose arguments fit.

    Attributes:
        call: the call as the model made it.
        tool: the tool that it names.
        given: the model's arguments, as JSON.
        arguments: the same, as the tool's function gets them.
        context: what the tool may use.
        outcome: where the output is kept as soon as there is one.
    """

    call: ToolCall
    tool: Tool
    given: JSONObject
    arguments: Arguments
    context: ToolContext
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def subject(self) -> str:
        """What permission rules match: the value of the tool's subject, else of its first path, else nothing."""
        name = self.tool.subject or next(iter(self.tool.paths), None)
        return "" if name is None else str(self.arguments.get(name, ""))


@dataclass(frozen=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True)
class Deny:
    """The call may not run; the model is told the reason."""

    reason: str


@dataclass(frozen=True)
class Ask:
    """A person decides; `rule` is what "always" would add, None when it is not on offer."""

    reason: str
    rule: str | None = None


Decision: TypeAlias = Allow | Deny | Ask


@dataclass
class Examination:
    """What a guard is given: the call, and the means to tighten the decision, never to loosen it.

    A guard answers with the reason to refuse the call, or None; `require_consent` has a person asked.
    """

    use: ToolUse
    consent_for: list[str] = field(default_factory=list)

    def require_consent(self, reason: str) -> None:
        """Have a person asked before the call runs, whatever the policy permits."""
        self.consent_for.append(reason)


POLICY = Serial[[ToolUse], Decision]("tools.policy", if_raises=lambda error: Deny("the permission policy failed"))
"""Permit a call, refuse it, or have it asked about. The first answer counts; one that raises refuses."""

GUARD = Serial[[Examination], str]("tools.guard", if_raises=lambda error: "a guard failed")
"""Refuse a call with a reason. Every guard is asked until one refuses; one that raises refuses."""

EXECUTE = Waterfall[[ToolUse], ToolOutput]("tools.execute")
"""Around the tool itself: change the call, answer in its place, time it, run it elsewhere."""

FINISHED = Waterfall[[ToolUse, ToolOutput], ToolOutput]("tools.finished")
"""A last look at the output before it becomes the result; what comes out is bounded and checked once more."""

ALWAYS = Emit[[str]]("tools.always")
"""A person has permitted what this rule matches for good, and not only for the session."""
