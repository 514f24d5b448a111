"""What a server gives for a call is kept, whatever it is, and the model sees what it can."""

from __future__ import annotations

from tests.agent.stage import call, payloads
from tests.mcp.servers import BARE_PEER, text, toml, worked
from tests.peers.bare_mcp_server import PNG

from everlog.mcp.results import MAX_SHOWN_BYTES, output_of
from everlog.session.messages import File, Image, Text


async def test_every_kind_of_content_is_kept() -> None:
    async with worked([call("mcp__peer__contents"), "Done."], toml(BARE_PEER)) as (_, agent):
        [result] = payloads(agent.session, "tool/result")
        blocks = result.message.result.content
        blobs = agent.session.blobs
        assert blobs.get(next(block.blob for block in blocks if isinstance(block, Image))) == PNG
        assert blobs.get(next(block.blob for block in blocks if isinstance(block, File))) == b"%PDF-1.7 x"
        said = [block.text for block in blocks if isinstance(block, Text)]
        assert said[0] == "a text"
        kept = {words.split(" (")[0][1:]: words.split("blob:")[1].rstrip("]") for words in said if "blob:" in words}
        assert blobs.get(kept["image"]) == b"<svg/>"
        assert blobs.get(kept["audio"]) == b"RIFF"
        assert any("not base64" in words for words in said)
        assert "[demo://text]\nof a resource" in said
        assert "[link to demo://link: elsewhere, text/plain]" in said
        assert '{"type":"from the future","value":[1,2]}' in said
        assert '"no part at all"' in said


async def test_structured_content_without_text_is_shown_as_json() -> None:
    async with worked([call("mcp__peer__structured"), "Done."], toml(BARE_PEER)) as (_, agent):
        [result] = payloads(agent.session, "tool/result")
        assert text(result) == '{"celsius":21.5}'
        assert result.meta == {"structured": {"celsius": 21.5}}


async def test_a_failure_keeps_its_content_too() -> None:
    async with worked([call("mcp__peer__fail"), "Done."], toml(BARE_PEER)) as (_, agent):
        [result] = payloads(agent.session, "tool/result")
        assert result.error.code == "MCP_TOOL_ERROR"
        assert [type(block) for block in result.message.result.content] == [Text, Image]


def test_a_result_of_no_known_form_is_no_crash() -> None:
    for odd in ({}, {"content": None}, {"content": "text"}, {"content": [None, 1, []]}, {"isError": True}):
        assert output_of(odd, None).content  # type: ignore[arg-type]


def test_an_image_that_is_too_large_for_a_request_is_kept_and_told_of() -> None:
    import base64

    class Kept(dict[str, bytes]):
        def put(self, data: bytes) -> str:
            self["hash"] = data
            return "hash"

    data = PNG + b"x" * MAX_SHOWN_BYTES
    part = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
    kept = Kept()
    [block] = output_of({"content": [part]}, kept).content  # type: ignore[arg-type]
    assert kept["hash"] == data
    assert isinstance(block, Text)
    assert "kept as blob:hash" in block.text
