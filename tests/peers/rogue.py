"""A server that answers with whatever bytes a test says, for the faults that no honest server makes."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

HANG = b"HANG"
"""In the place of bytes: keep the connection open and send nothing."""


def http(body: bytes, content_type: str = "text/event-stream", status: str = "200 OK", headers: str = "") -> bytes:
    """An answer that ends with its connection."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nConnection: close\r\n{headers}\r\n"
    return head.encode() + body


def sse(*events: str) -> bytes:
    """Server-sent events of this data; a text that begins with `event:` is one as it stands."""
    return b"".join(f"{e if e.startswith('event:') else f'data: {e}'}\n\n".encode() for e in events)


class Rogue:
    """Listens on a free port of this machine. Each connection gets the next answer; the last one is repeated."""

    def __init__(self, answers: Sequence[Sequence[bytes]]) -> None:
        self._answers = list(answers)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._done = Event()
        self.bodies: list[bytes] = []
        self.closed_by_client = Event()
        """Set when a client closes a connection that hangs."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def serve(self) -> None:
        """Answer until `stop`."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            Thread(target=self._answer, args=(connection, answer), daemon=True).start()

    def stop(self) -> None:
        """Close everything."""
        self._done.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _answer(self, connection: socket.socket, answer: Sequence[bytes]) -> None:
        with connection:
            self.bodies.append(_read_request(connection))
            for piece in answer:
                if piece != HANG:
                    connection.sendall(piece)
                    continue
                connection.settimeout(0.05)
                while not self._done.is_set():
                    try:
                        if not connection.recv(1):
                            self.closed_by_client.set()
                            return
                    except TimeoutError:
                        continue
                    except OSError:
                        self.closed_by_client.set()
                        return


def _read_request(connection: socket.socket) -> bytes:
    held = b""
    while b"\r\n\r\n" not in held:
        held += connection.recv(65536)
    head, _, body = held.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return body


@contextmanager
def rogue(*answers: Sequence[bytes]) -> Iterator[Rogue]:
    """A rogue server for as long as the block lasts; each answer is a sequence of bytes and `HANG`."""
    server = Rogue(answers)
    Thread(target=server.serve, daemon=True).start()
    try:
        yield server
    finally:
        server.stop()
