"""HTML as text that a model can read: headings, lists, links and code as Markdown, without what surrounds a text."""

from __future__ import annotations

import re
from urllib.parse import urljoin

_AROUND = ("script", "style", "noscript", "template", "svg", "iframe", "nav", "footer", "aside", "form", "button")


def readable(html: str, url: str) -> str:
    """Give the text of a page; links become absolute."""
    from bs4 import BeautifulSoup
    from bs4.element import Tag

    soup = BeautifulSoup(html, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title is not None else ""
    for element in soup.find_all([*_AROUND, "head"]):
        element.decompose()
    for link in soup.find_all("a", href=True):
        link["href"] = urljoin(url, str(link["href"]))
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    main = soup.find("main") or soup.find("article") or soup.body or soup
    text = _markdown(main) if isinstance(main, Tag) else soup.get_text("\n")
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return f"{title}\n\n{text}" if title and not text.startswith(("# " + title, title)) else text


def _markdown(element: object) -> str:
    from bs4.element import Tag
    from markdownify import MarkdownConverter

    assert isinstance(element, Tag)
    try:
        return str(MarkdownConverter(heading_style="ATX", bullets="-").convert_soup(element))
    except RecursionError:  # nested without end, on purpose or not
        return element.get_text("\n")
