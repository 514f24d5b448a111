"""`ask_user`: a question of the model's own, put to the person."""

from __future__ import annotations

from everlog.session.jsonvalue import JSON, scrub
from everlog.tools.declare import tool
from everlog.tools.seam import Respondent, ToolContext, ToolFailure, ToolOutput, output


@tool(effects="read-only")
async def ask_user(context: ToolContext, question: str, choices: list[str] | None = None) -> ToolOutput:
    """Ask the person something that only they can tell, and wait for the answer.

    Ask when a wish can be read in ways that lead to different work; not for what files or tests can tell.

    Args:
        question: The question, in full.
        choices: Answers to choose from; the person may answer otherwise.
    """
    if context.scope is None or Respondent not in context.scope:
        text = "Nobody is there to be asked. Go on with what is most likely meant, and say what you assumed."
        raise ToolFailure(text, code="NOBODY_THERE")
    answer = scrub(await context.scope[Respondent].respond(question, choices or []))
    meta: JSON = {"question": question, "answer": answer}
    return output(answer or "[no answer]", meta)
