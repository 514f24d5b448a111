"""From what a model saw in another log, a session of our own goes on."""

from __future__ import annotations

from tests.agent.stage import BARE, MODEL
from tests.interop.claude_code.test_reading import TURN, answer, tool, user
from tests.interop.codex.test_reading import TURN as CODEX
from tests.interop.foreign import PNG_TEXT, lines
from tests.interop.openhands.test_reading import SDK, as_array
from tests.session.stories import Story, plain_turn

from everlog import Harness
from everlog.interop.continuing import continue_in, continued
from everlog.interop.importing import import_into, imported
from everlog.kernel import Config
from everlog.llm.script import scripted
from everlog.session.rules import check


def texts(messages: object) -> list[tuple[str, str]]:
    return [(m.role, m.text or "".join(b.text for b in m.result.content) if m.result else m.text) for m in messages]  # type: ignore[attr-defined]


def test_the_session_holds_what_the_model_saw_and_names_its_parent() -> None:
    for data in (lines(*TURN), lines(*CODEX), as_array(SDK)):
        recording = imported(data).recording
        session = continued(recording)
        shown = [message for message in recording.messages() if message.role != "system"]
        assert texts(session.messages()) == texts(shown)
        assert (session.header.parent_session, session.header.origin) == (recording.id, "continue")
        assert session.id != recording.id
        assert check(session) == []
        assert session.project("lineage").resumes == ()
        plain_turn(Story(session))


def test_a_call_that_has_no_answer_there_has_one_here() -> None:
    session = continued(imported(lines(*TURN, user("7", "6", "more"), answer("8", "7", tool("t2")))).recording)
    assert session.messages()[-1].result is not None


async def test_an_agent_goes_on_with_it_and_its_images_are_sent() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}}
    log = lines(*TURN, user("7", "6", [image]), answer("8", "7", "A picture."))
    async with Harness(Config.parse(BARE), "memory:", [scripted({"it": ["Unused."] * 3 + ["On it."]})]) as harness:
        found = await import_into(harness.store, log)
        async with await harness.store.open(found.header.id, "read") as recording:
            header = await continue_in(harness.store, recording)
        async with await harness.agents.resume(header.id, model=MODEL) as agent:
            agent.followup("go on")
            await agent.when_idle()
            assert agent.session.messages()[-1].text == "On it."
            assert agent.session.header.parent_session == "s-1"
