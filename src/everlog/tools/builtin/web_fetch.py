"""`web_fetch`: a page of the web, as text."""

from __future__ import annotations

from functools import partial

from everlog.tools.addresses import WebAccess
from everlog.tools.declare import tool
from everlog.tools.fetching import MAX_BYTES, SECONDS, Page, fetch
from everlog.tools.readable import readable
from everlog.tools.seam import ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.textfile import read_text
from everlog.tools.threads import in_thread


@tool(effects="read-only", parallel_safe=True, timeout=SECONDS + 15, subject="url", network=True)
async def web_fetch(context: ToolContext, url: str) -> ToolOutput:
    """Fetch a page of the web and give it as text; HTML becomes Markdown. Public addresses only.

    A redirect to another host is not followed, but told.

    Args:
        url: The address, with http:// or https://.
    """
    access = context.scope[WebAccess] if context.scope is not None and WebAccess in context.scope else WebAccess()
    page = await fetch(url, access)
    if page.moved_to is not None:
        return output(f"{page.url} sends you to {page.moved_to}. Fetch that if you want it.")
    text = await in_thread(partial(_text, page))
    if page.status >= 400:
        said = f"{page.url} answers with status {page.status}.\n{text[:2_000]}".rstrip()
        raise ToolFailure(said, code="HTTP_STATUS", reason=str(page.status))
    note = "" if page.complete else f"\n[the page is longer than {MAX_BYTES:,} bytes; the rest is left out]"
    return output(text + note, {"url": page.url, "status": page.status, "mediaType": page.media_type})


def _text(page: Page) -> str:
    text = _decoded(page)
    if text is None:
        kind = page.media_type or "of an unknown kind"
        raise ToolFailure(f"{page.url} is {kind}, {len(page.body):,} bytes; it is no text.", code="BINARY_FILE")
    is_html = (
        page.media_type in ("text/html", "application/xhtml+xml") or text.lstrip()[:15].lower() == "<!doctype html>"
    )
    return readable(text, page.url) if is_html else text


def _decoded(page: Page) -> str | None:
    if page.charset is not None:
        try:
            return page.body.decode(page.charset, errors="replace")
        except LookupError:
            pass
    found = read_text(page.body if page.complete else page.body.decode(errors="ignore").encode())
    return None if found is None else found.text
