"""A proxy of the standard library that keeps the bytes of every request on their way to a real server."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import urlsplit

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@dataclass(frozen=True)
class Received:
    """One request as it came over the wire; the names of its headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Recorder(ThreadingHTTPServer):
    """Listens on a free port of this machine, records, and passes everything on as it comes."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlsplit(upstream)
        self.upstream = (parts.hostname or "", parts.port or 80)
        self.received: list[Received] = []
        self.broken_off = Event()
        """Set when a client does not wait for the end of an answer."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is nothing to print."""


class Recorded:
    """A server behind a recorder: what it was sent, and where to send more.

    For OpenAI's protocols the base URL is `openai_url`, for Anthropic's `url`.
    """

    patience = 30
    """Seconds within which a client that breaks off must have done so."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @property
    def url(self) -> str:
        return self._recorder.url

    @property
    def openai_url(self) -> str:
        return f"{self._recorder.url}/v1"

    @property
    def received(self) -> list[Received]:
        """Every request since the last reset, as it came over the wire."""
        return self._recorder.received

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the requests to models."""
        return [request.body for request in self.received if request.method == "POST"]

    def wait_for_break(self) -> None:
        """Return when a client has closed its connection before an answer was complete."""
        assert self._recorder.broken_off.wait(self.patience)

    def reset(self) -> None:
        """Forget what was received."""
        self._recorder.received.clear()
        self._recorder.broken_off.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Recorder

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not self.path.startswith("/__"):
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.server.received.append(Received(self.command, self.path, headers, body))
        upstream = http.client.HTTPConnection(*self.server.upstream)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            upstream.request(self.command, self.path, body or None, headers)
            self._pass_back(upstream.getresponse())
        finally:
            upstream.close()

    do_POST = do_GET = do_DELETE = handle_request  # noqa: N815 (http.server's names)

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in _pieces(answer):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except http.client.HTTPException:
            self.connection.shutdown(socket.SHUT_RDWR)  # the server broke off: so do we
            self.close_connection = True
        except OSError:
            self.server.broken_off.set()
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := answer.read1(65536):
        yield piece


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """A recorder in front of a server, for as long as the block lasts."""
    recorder = Recorder(upstream)
    thread = Thread(target=recorder.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield recorder
    finally:
        recorder.shutdown()
        recorder.server_close()
