"""aimock, a server of npm that speaks the protocols of OpenAI, Anthropic and others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from tests.peers import node
from tests.peers.recorder import Recorded, Recorder, recording


class Aimock(Recorded):
    """A running aimock behind a recorder. Fixtures and journal are empty at the start of each test."""

    def __init__(self, recorder: Recorder, control: str) -> None:
        super().__init__(recorder)
        self._control = f"{control}/__aimock"

    def answer(self, *responses: dict[str, Any], **match: Any) -> None:
        """Give these answers one after the other, then the last one again, to requests that match.

        A response is what aimock calls one (`{"content": …}`, `{"toolCalls": […]}`, `{"error": …}`, `reasoning`,
        `usage`), and may hold what aimock keeps beside it: `latency`, `chunkSize`, `truncateAfterChunks`,
        `disconnectAfterMs`. Matches are aimock's too, like `userMessage="hi"`; none matches everything.
        """
        fixtures = []
        for at, response in enumerate(responses):
            beside = {key: response[key] for key in _BESIDE if key in response}
            said = {key: value for key, value in response.items() if key not in _BESIDE}
            turn = {} if at == len(responses) - 1 else {"sequenceIndex": at}
            fixtures.append({"match": {**match, **turn}, "response": said, **beside})
        self._post("fixtures", {"fixtures": fixtures})

    def fail_next(self, status: int, message: str = "no", **error: Any) -> None:
        """Answer the next request with an error, and only that one."""
        self._post("error", {"status": status, "body": {"message": message, **error}})

    def chaos(self, **rates: float) -> None:
        """Set rates of faults: `dropRate`, `malformedRate`, `disconnectRate`, `rateLimitRate`."""
        self._post("chaos", rates)

    def reset(self) -> None:
        """Forget fixtures, chaos and requests."""
        self._post("reset", {})
        super().reset()

    def _post(self, path: str, body: dict[str, Any]) -> None:
        request = Request(f"{self._control}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=10) as answer:
            answer.read()


_BESIDE = ("latency", "chunkSize", "truncateAfterChunks", "disconnectAfterMs", "streamingProfile", "chaos")


@contextmanager
def running_aimock(folder: Path) -> Iterator[Aimock]:
    """aimock on a free port of this machine, for as long as the block lasts."""
    fixtures = folder / "fixtures.json"
    fixtures.write_text('{"fixtures": []}')
    script = node.module("@copilotkit/aimock", "dist/cli.js")
    command = [*node.node(), str(script), "--port", "0", "--fixtures", str(fixtures), "--log-level", "info"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            url = _listening(process)
            with recording(url) as recorder:
                yield Aimock(recorder, url)
        finally:
            process.terminate()


def _listening(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"listening on (http://\S+)", line):
            Thread(target=process.stdout.read, daemon=True).start()  # a full pipe would stop the server
            return found[1]
    raise RuntimeError(f"aimock did not start:\n{''.join(said)}")
