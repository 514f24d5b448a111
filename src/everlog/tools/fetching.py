"""Fetching an address over HTTP: bounded in time and size, and never from where it may not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from everlog.tools.addresses import WebAccess
from everlog.tools.seam import ToolFailure

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

MAX_BYTES = 5_000_000
MAX_REDIRECTS = 5
SECONDS = 30.0


@dataclass(frozen=True)
class Page:
    """What an address gave.

    Attributes:
        url: where it was in the end.
        status: the HTTP status.
        media_type: like `text/html`; empty when it was not told.
        charset: the encoding that was told, or None.
        body: the bytes, decompressed; at most MAX_BYTES.
        complete: whether that is all.
        moved_to: another host that it sent to, which was not followed; else None.
    """

    url: str
    status: int
    media_type: str
    charset: str | None
    body: bytes
    complete: bool
    moved_to: str | None = None


async def fetch(address: str, access: WebAccess) -> Page:
    """Give a page. Redirects are followed as long as they stay on the host.

    Raises:
        ToolFailure: the address is none, may not be connected to, does not answer, or answers without end.
    """
    import httpx2

    url = _checked(address)
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS, follow_redirects=False) as client:
            for _ in range(MAX_REDIRECTS + 1):
                page = await _one(client, url, access)
                if page.status not in (301, 302, 303, 307, 308) or page.moved_to is None:
                    return page
                target = _checked(page.moved_to)
                if target.host != url.host:
                    return page
                url = target
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        said = str(error) or type(error).__name__
        raise ToolFailure(f"{url} could not be fetched: {said}", code="FETCH_FAILED") from None
    raise ToolFailure(f"{address} redirects more than {MAX_REDIRECTS} times.", code="FETCH_FAILED")


def _checked(address: str) -> URL:
    import httpx2

    try:
        url = httpx2.URL(address)
    except (httpx2.InvalidURL, TypeError, ValueError) as error:
        raise ToolFailure(f"{address!r} is no address: {error}", code="ADDRESS_INVALID") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolFailure("The address begins with http:// or https:// and names a host.", code="ADDRESS_INVALID")
    if url.userinfo:
        raise ToolFailure("The address may not hold a user name or password.", code="ADDRESS_INVALID")
    return url


async def _one(client: AsyncClient, url: URL, access: WebAccess) -> Page:
    """Make one request, to a vetted address of the host, under the host's own name."""
    from everlog import __version__

    port = url.port or (443 if url.scheme == "https" else 80)
    addresses = await access.addresses(url.host, port)
    request = client.build_request(
        "GET",
        url.copy_with(host=addresses[0]),
        headers={"Host": url.netloc.decode(), "User-Agent": f"everlog/{__version__}", "Accept": "text/html, */*;q=0.5"},
        extensions={"sni_hostname": url.host},
    )
    response = await client.send(request, stream=True)
    try:
        return await _page(url, response)
    finally:
        await response.aclose()


async def _page(url: URL, response: Response) -> Page:
    location = response.headers.get("location")
    if response.is_redirect and location is not None:
        return Page(str(url), response.status_code, "", None, b"", True, str(url.join(location)))
    body = bytearray()
    complete = True
    async for piece in response.aiter_bytes(65_536):
        body += piece
        if len(body) > MAX_BYTES:
            complete = False
            break
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Page(
        str(url), response.status_code, media_type, response.charset_encoding, bytes(body[:MAX_BYTES]), complete
    )
