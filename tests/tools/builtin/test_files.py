"""read, write, edit: what the model is shown, and what happens to the bytes."""

import os
import stat
from pathlib import Path

import pytest
from tests.tools.workshop import Workshop, call, code, text

from everlog.session.messages import Image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


async def test_read_shows_lines_with_numbers(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    assert text(await shop.one("read", file_path="a.txt")) == "     1\tone\n     2\ttwo"


async def test_read_shows_a_window_and_says_how_to_go_on(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    told = text(await shop.one("read", file_path="a.txt", offset=10, limit=2))
    assert told == "    10\tline 10\n    11\tline 11\n[lines 10 to 11 of 100; go on with offset=12]"
    assert "nothing from line 101" in text(await shop.one("read", file_path="a.txt", offset=101))


async def test_a_window_is_bounded_in_characters_too(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join("x" * 1_900 + "\n" for _ in range(100)))
    told = text(await shop.one("read", file_path="a.txt"))
    assert len(told) < 50_000
    assert "go on with offset=" in told


async def test_one_line_of_five_megabytes_is_cut(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.txt").write_text("x" * 5_000_000)
    told = text(await shop.one("read", file_path="a.txt"))
    assert len(told) < 3_000
    assert "4,998,000 more characters" in told


async def test_a_file_too_large_to_be_held_is_read_by_windows(shop: Workshop, workspace: Path) -> None:
    with open(workspace / "big", "wb") as file:
        file.write(b"first\n" + b"y" * 30_000_000 + b"\nthird\n")
        file.truncate(1_000_000_000)
    told = text(await shop.one("read", file_path="big", limit=3))
    assert told.startswith("     1\tfirst\n     2\tyyy")
    assert "     3\tthird" in told
    assert "of a file of 1,000,000,000 bytes; go on with offset=4" in told


@pytest.mark.parametrize(
    ("data", "shown", "note"),
    [
        ("é".encode(), "é", ""),
        ("é".encode("utf-8-sig"), "é", "utf-8 with a byte order mark"),
        ("é".encode("utf-16"), "é", "utf-16-le with a byte order mark"),
        ("# -*- coding: koi8-r -*-\n# Привет\n".encode("koi8-r"), "# Привет", "koi8-r"),
        ("Größe und Maß überprüfen, schöne Grüße\n".encode("latin-1"), "Größe", "guessed"),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n", "lines end in CRLF"),
        (b"a\r\nb\n", "     1\ta\n     2\tb\n", "mixed line endings"),
    ],
)
async def test_read_finds_out_encoding_and_line_endings(
    shop: Workshop, workspace: Path, data: bytes, shown: str, note: str
) -> None:
    (workspace / "a.txt").write_bytes(data)
    told = text(await shop.one("read", file_path="a.txt"))
    assert shown in told
    assert note in told


async def test_read_refuses_binary_and_shows_images(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.bin").write_bytes(bytes(range(256)))
    (workspace / "a.png").write_bytes(PNG)
    assert code(await shop.one("read", file_path="a.bin")) == "BINARY_FILE"
    result = await shop.one("read", file_path="a.png")
    assert result.message.result is not None
    (image,) = [block for block in result.message.result.content if isinstance(block, Image)]
    assert (shop.blobs.get(image.blob), image.media_type) == (PNG, "image/png")


async def test_read_says_what_is_wrong_with_a_path(shop: Workshop, workspace: Path) -> None:
    (workspace / "config.toml").write_text("x")
    missing = await shop.one("read", file_path="confg.toml")
    assert code(missing) == "FILE_NOT_FOUND"
    assert "Near it: config.toml" in text(missing)
    assert "is a folder" in text(await shop.one("read", file_path="."))
    os.mkfifo(workspace / "pipe")
    assert "is a pipe" in text(await shop.one("read", file_path="pipe"))
    assert code(await shop.one("read", file_path="/dev/zero")) == "NOT_A_FILE"


async def test_read_gives_blobs_back(shop: Workshop) -> None:
    name = shop.blobs.put(b"one\ntwo\n")
    assert text(await shop.one("read", file_path=f"blob:{name}", offset=2)).startswith("     2\ttwo")
    assert code(await shop.one("read", file_path="blob:nothing")) == "FILE_NOT_FOUND"


async def test_write_makes_a_file_and_its_folders(shop: Workshop, workspace: Path) -> None:
    result = await shop.one("write", file_path="a/b.txt", content="hé\r\n")
    assert (workspace / "a/b.txt").read_bytes() == "hé\r\n".encode()
    assert "Created a/b.txt: 5 bytes" in text(result)
    assert "+hé" in str(result.meta)


async def test_write_replaces_only_what_was_read_and_has_not_changed(shop: Workshop, workspace: Path) -> None:
    path = workspace / "a.txt"
    path.write_text("mine\n")
    assert code(await shop.one("write", file_path="a.txt", content="new\n")) == "FILE_NOT_READ"
    await shop.one("read", file_path="a.txt")
    path.write_text("mine again\n")
    assert code(await shop.one("write", file_path="a.txt", content="new\n")) == "FILE_CHANGED"
    assert path.read_text() == "mine again\n"
    await shop.one("read", file_path="a.txt")
    assert code(await shop.one("write", file_path="a.txt", content="new\n")) is None
    assert code(await shop.one("write", file_path="a.txt", content="newer\n")) is None


async def test_edit_replaces_one_place_and_shows_the_change(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    result = await shop.one("edit", file_path="a.py", old_string="b = 2", new_string="b = 4\nd = 5")
    assert (workspace / "a.py").read_text() == "a = 1\nb = 4\nd = 5\nc = 3\n"
    assert text(result) == "Edited a.py at line 2."
    assert "-b = 2\n+b = 4\n+d = 5\n" in result.meta["diff"]  # type: ignore[index, call-overload, operator]


@pytest.mark.parametrize(
    ("old", "expected", "said"),
    [
        ("x", "NOT_UNIQUE", "stands 3 times in a.py, at lines 1, 2, 4"),
        ("nothing", "NO_MATCH", "not in a.py"),
        ("x =  1", "NO_MATCH", "with other blanks"),
        ("y = 2\nz", "NO_MATCH", "its first line is, at 3"),
        ("", "NO_MATCH", "old_string is empty"),
    ],
)
async def test_edit_refuses_what_is_not_clear(
    shop: Workshop, workspace: Path, old: str, expected: str, said: str
) -> None:
    (workspace / "a.py").write_text("x = 1\nx = 1\ny = 2\nx\n")
    result = await shop.one("edit", file_path="a.py", old_string=old, new_string="new")
    assert code(result) == expected
    assert said in text(result)
    assert (workspace / "a.py").read_text() == "x = 1\nx = 1\ny = 2\nx\n"


async def test_edit_replaces_all_when_asked(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.py").write_text("x x\nx\n")
    result = await shop.one("edit", file_path="a.py", old_string="x", new_string="y", replace_all=True)
    assert (workspace / "a.py").read_text() == "y y\ny\n"
    assert "3 places" in text(result)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\nb\r\nc\nd\n", "a\nb", "x\ny", b"x\ny\r\nc\nd\n"),
        (b"a\nb\r\nc", "c", "x\ny", b"a\nb\r\nx\r\ny"),
        (b"a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", b"a\nb\n"),
        (b"a\nb\n", "b\n", "b\r\n", b"a\nb\r\n"),
        ("é1\n".encode("utf-8-sig"), "1", "2", "é2\n".encode("utf-8-sig")),
        ("é1\n".encode("utf-16-be"), "1", "2", None),
        (b"\xfe\xff" + "é1\n".encode("utf-16-be"), "1", "2", b"\xfe\xff" + "é2\n".encode("utf-16-be")),
        ("# coding: latin-1\né7\n".encode("latin-1"), "7\n", "ß2\n", "# coding: latin-1\néß2\n".encode("latin-1")),
        (b"# coding: latin-1\nx\n", "x", "\xe9", b"# coding: latin-1\n\xe9\n"),
        (b"# coding: latin-1\n\xe9\n", "latin-1", "utf-8", b"# coding: utf-8\n\xc3\xa9\n"),
        (b"# coding: nonsense\nx\n", "x", "\xe9", b"# coding: nonsense\n\xc3\xa9\n"),
        (b"", "", "new\n", b"new\n"),
    ],
)
async def test_edit_keeps_line_endings_encoding_and_mark(
    shop: Workshop, workspace: Path, before: bytes, old: str, new: str, after: bytes | None
) -> None:
    (workspace / "a.txt").write_bytes(before)
    result = await shop.one("edit", file_path="a.txt", old_string=old, new_string=new)
    assert code(result) == (None if after is not None else "BINARY_FILE")
    assert (workspace / "a.txt").read_bytes() == (after if after is not None else before)


async def test_edit_refuses_characters_that_the_encoding_lacks(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n")
    result = await shop.one("edit", file_path="a.py", old_string="x", new_string="\N{GREEK SMALL LETTER PI}")
    assert code(result) == "ENCODING"
    assert "U+03C0" in text(result)


async def test_edit_keeps_the_mode_and_follows_links(shop: Workshop, workspace: Path) -> None:
    script = workspace / "run.sh"
    script.write_text("echo a\n")
    script.chmod(0o750)
    (workspace / "link.sh").symlink_to("run.sh")
    os.link(script, workspace / "twin.sh")
    await shop.one("edit", file_path="link.sh", old_string="a", new_string="b")
    assert (workspace / "link.sh").is_symlink()
    assert script.read_text() == (workspace / "twin.sh").read_text() == "echo b\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


async def test_edit_refuses_a_file_that_changed_since_it_was_read(shop: Workshop, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")
    await shop.one("read", file_path="a.txt")
    (workspace / "a.txt").write_text("one\ntwo\n")
    assert code(await shop.one("edit", file_path="a.txt", old_string="one", new_string="1")) == "FILE_CHANGED"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"content": "new\n"}),
        ("edit", {"old_string": "two", "new_string": "2"}),
        ("edit", {"old_string": "two\n", "new_string": ""}),
        ("edit", {"old_string": "o", "new_string": "0", "replace_all": True}),
    ],
)
async def test_a_probe_tells_by_content_whether_a_lost_call_took_effect(
    shop: Workshop, workspace: Path, name: str, arguments: dict[str, object]
) -> None:
    path = workspace / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    await shop.one("read", file_path="a.txt")
    lost = call(name, file_path="a.txt", **arguments)
    context = shop.context
    assert await shop.tools.probe(lost, context) == "absent"

    before = path.read_bytes()
    other = Workshop(workspace)
    await other.one("read", file_path="a.txt")
    assert code((await other.step(lost))[0]) is None  # the effect, and a result that this session never heard of
    assert await shop.tools.probe(lost, context) == "confirmed"

    path.write_text("something else\n")
    assert await shop.tools.probe(lost, context) == "unknown"
    path.write_bytes(before)
    assert await shop.tools.probe(lost, context) == "absent"


async def test_todo_write_records_the_list(shop: Workshop) -> None:
    await shop.one("todo_write", todos=[{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}])
    todos = shop.session.project("todos")
    assert "b" in str(todos[-1])
    wrong = await shop.one("todo_write", todos=[{"content": "a", "status": "maybe"}])
    assert code(wrong) == "INVALID_ARGUMENTS"
