"""web_fetch against a real HTTP server: what a model reads, and where it may not go."""

import contextlib
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.tools.workshop import Workshop, code, text

from everlog.tools.addresses import WebAccess, WebSettings, is_public
from everlog.tools.readable import readable

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server on this machine, whose pages the test sets."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        self.seen: list[tuple[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append((self.path, self.headers["Host"]))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    site.pages[self.path](self)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def page(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            for name, value in headers.items():
                request.send_header(name.replace("_", "-"), value)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

        self.pages[path] = answer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def shop(shop: Workshop, site: Site) -> Workshop:
    shop.scope.provide(WebAccess, WebAccess(WebSettings(allow=(f"localhost:{site.port}",))))
    return shop


async def fetched(shop: Workshop, site: Site, path: str = "/") -> str:
    return text(await shop.one("web_fetch", url=f"http://localhost:{site.port}{path}"))


async def test_html_becomes_text_with_absolute_links(shop: Workshop, site: Site) -> None:
    site.page(
        "/",
        b"""<!doctype html><html><head><title>The page</title><style>x{}</style></head><body>
        <nav>Menu</nav><main><h1>Heading</h1><p>Some <b>bold</b> words and <a href="/more?a=1">a link</a>.</p>
        <ul><li>one</li><li>two</li></ul><pre><code>def f():
    return 1</code></pre><script>alert(1)</script></main><footer>Feet</footer></body></html>""",
        Content_Type="text/html; charset=utf-8",
    )
    told = await fetched(shop, site)
    assert told.startswith("The page\n\n# Heading\n")
    assert f"[a link](http://localhost:{site.port}/more?a=1)" in told
    assert "- one\n- two" in told
    assert "def f():\n    return 1" in told
    assert not any(word in told for word in ("Menu", "Feet", "alert", "x{}"))


async def test_text_is_given_as_it_is_in_the_encoding_that_was_told(shop: Workshop, site: Site) -> None:
    site.page("/", "a\nprice: 5€".encode("cp1252"), Content_Type="text/plain; charset=windows-1252")
    assert await fetched(shop, site) == "a\nprice: 5€"


async def test_what_is_no_text_is_not_shown(shop: Workshop, site: Site) -> None:
    site.page("/", bytes(range(256)), Content_Type="application/octet-stream")
    result = await shop.one("web_fetch", url=f"http://localhost:{site.port}/")
    assert code(result) == "BINARY_FILE"


@pytest.mark.parametrize("status", [404, 500])
async def test_a_failed_request_says_its_status_and_what_the_page_says(shop: Workshop, site: Site, status: int) -> None:
    site.page("/", b"not here", status)
    result = await shop.one("web_fetch", url=f"http://localhost:{site.port}/")
    assert code(result) == "HTTP_STATUS"
    assert f"status {status}" in text(result)
    assert "not here" in text(result)


async def test_a_page_without_end_is_cut_also_when_it_is_compressed(shop: Workshop, site: Site) -> None:
    site.page("/", gzip.compress(b"a" * 50_000_000), Content_Type="text/plain", Content_Encoding="gzip")
    told = await fetched(shop, site)
    assert "longer than 5,000,000 bytes" in told
    assert len(told) < 60_000


async def test_a_redirect_is_followed_on_the_host_and_told_when_it_leaves(shop: Workshop, site: Site) -> None:
    site.page("/", b"", 302, Location="/there")
    site.page("/there", b"here I am", Content_Type="text/plain")
    site.page("/away", b"", 302, Location="http://example.org/x")
    site.page("/round", b"", 302, Location="/round")
    assert await fetched(shop, site) == "here I am"
    assert "sends you to http://example.org/x" in await fetched(shop, site, "/away")
    assert "more than 5 times" in await fetched(shop, site, "/round")


async def test_the_server_is_asked_under_its_own_name(shop: Workshop, site: Site) -> None:
    site.page("/", b"ok", Content_Type="text/plain")
    await fetched(shop, site)
    assert site.seen == [("/", f"localhost:{site.port}")]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://[::1]:{port}/", "http://2130706433:{port}/", "http://0x7f.1:{port}/"]
)
async def test_addresses_that_are_not_public_are_refused(shop: Workshop, site: Site, url: str) -> None:
    result = await shop.one("web_fetch", url=url.format(port=site.port))
    assert code(result) in ("ADDRESS_NOT_ALLOWED", "HOST_NOT_FOUND", "ADDRESS_INVALID")
    assert site.seen == []


async def test_a_name_that_leads_to_this_machine_is_refused(
    shop: Workshop, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def lying(host: str, *args: object, **kwargs: object) -> object:
        return real("127.0.0.1" if host == "public.example" else host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", lying)
    result = await shop.one("web_fetch", url=f"http://public.example:{site.port}/")
    assert code(result) == "ADDRESS_NOT_ALLOWED"
    assert site.seen == []


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "example.org", "http://", "http://a:b@c.org/"]
)
async def test_what_is_no_address_of_the_web_is_refused(shop: Workshop, url: str) -> None:
    assert code(await shop.one("web_fetch", url=url)) == "ADDRESS_INVALID"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_page_nested_without_end_is_still_read() -> None:
    assert "deep" in readable("<div>" * 5_000 + "deep", "http://example.org/")
