"""Whatever is wrong: one helpful line on stderr, an exit code that is not 0, and sessions that stay intact."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.cli.conftest import Cli, Done

from everlog import open_store

QUICK = "[plugin.retry]\nattempts = 2\nfirst_wait = 0.05\njitter = 0.0\n"


def assert_one_helpful_line(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done
    assert "Traceback" not in done.out + done.err
    lines = done.err.splitlines()
    assert len(lines) == 1, done
    assert lines[0].startswith("everlog: ")
    for word in words:
        assert word in lines[0], done


@contextmanager
def endpoint(status: int, body: bytes, kind: str) -> Iterator[str]:
    """A server that gives the same answer to everything; without a status, it hangs up."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if status:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def configured(cli: Cli, url: str) -> None:
    cli.config.write_text(f'[defaults]\nmodel = "lab/m"\n{QUICK}[provider.lab]\nbase_url = "{url}"\n')
    cli.environment["LAB_API_KEY"] = "k"


ANSWERS = {
    "401": (401, b'{"error":{"message":"bad key"}}', "application/json", "LAB_API_KEY"),
    "404": (404, b'{"error":{"message":"no such model"}}', "application/json", "lab"),
    "429": (429, b'{"error":{"message":"slow down"}}', "application/json", "slow down"),
    "500": (500, b'{"error":{"message":"oops"}}', "application/json", "oops"),
    "HTML": (200, b"<html><body>Welcome</body></html>", "text/html", "lab"),
    "hangs up": (0, b"", "", "lab"),
    "an empty stream": (200, b"", "text/event-stream", ""),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_endpoint_that_answers_amiss(cli: Cli, answer: str) -> None:
    status, body, kind, word = ANSWERS[answer]
    with endpoint(status, body, kind) as url:
        configured(cli, url)
        assert_one_helpful_line(cli("run", "hello"), 1, word)
    the_session_is_intact(cli)


def test_an_endpoint_that_is_not_there(cli: Cli) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        configured(cli, f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        assert_one_helpful_line(cli("run", "hello"), 1, "127.0.0.1")
    the_session_is_intact(cli)


def the_session_is_intact(cli: Cli) -> None:
    """The session that was begun is closed, holds the prompt, and goes on with another model."""
    log = cli("show", "--last", "--view", "log", "--json").json
    assert log[-1]["type"] == "turn/end"
    assert log[-1]["data"]["reason"]["kind"] == "error"
    done = cli("resume", "--last", "again", "--model", cli.script("- Better."), "--output", "json")
    assert (done.code, done.json["text"]) == (0, "Better."), done
    assert "hello" in cli("show", "--last").out


def test_no_key(cli: Cli) -> None:
    assert_one_helpful_line(cli("run", "hello", "--model", "openai/gpt-4.1"), 2, "OPENAI_API_KEY")
    assert cli("sessions", "--json").json == []


@pytest.mark.parametrize(
    ("model", "word"), [("nobody/x", "nobody"), ("x", "provider/model"), ("script/nowhere.yaml", "nowhere.yaml")]
)
def test_an_unknown_model(cli: Cli, model: str, word: str) -> None:
    assert_one_helpful_line(cli("run", "hello", "--model", model), 2, word)
    assert cli("sessions", "--json").json == []


def test_no_model(cli: Cli) -> None:
    assert_one_helpful_line(cli("run", "hello"), 2, "--model")


def test_no_prompt(cli: Cli) -> None:
    assert_one_helpful_line(cli("run", input=""), 2, "everlog run")


@pytest.mark.parametrize("command", ["show", "request", "fork", "resume"])
def test_an_unknown_session(cli: Cli, command: str) -> None:
    cli.ran("- Hello.")
    words = ["more"] if command == "resume" else []
    assert_one_helpful_line(cli(command, "nothing-like-it", *words), 1, "nothing-like-it", "everlog sessions")


@pytest.mark.parametrize("command", ["show", "request", "fork", "resume"])
def test_no_session_named(cli: Cli, command: str) -> None:
    assert_one_helpful_line(cli(command), 2, "--last")


def test_a_folder_that_is_not_there(cli: Cli) -> None:
    assert_one_helpful_line(cli("run", "hello", "--cwd", "nowhere"), 2, "nowhere")


def test_a_folder_that_is_a_file(cli: Cli) -> None:
    (cli.work / "file").touch()
    assert_one_helpful_line(cli("run", "hello", "--cwd", "file"), 2, "file")


def test_a_folder_that_cannot_be_read(cli: Cli) -> None:
    (cli.work / "closed").mkdir(mode=0)
    cli.prefix = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    assert_one_helpful_line(cli("run", "hello", "--cwd", "closed"), 2, "closed")


@pytest.mark.parametrize("command", [["run", "hello"], ["sessions"], ["plugins"]])
def test_broken_toml(cli: Cli, command: list[str]) -> None:
    cli.config.write_text('model = "x\n')
    cli.environment.pop("EVERLOG_STORE")
    assert_one_helpful_line(cli(*command), 2, "everlog.toml", "not TOML")


@pytest.mark.parametrize("command", [["run", "hello"], ["plugins"]])
def test_a_table_that_nothing_reads(cli: Cli, command: list[str]) -> None:
    cli.config.write_text("[permissions]\nmode = 'ask'\n[plugn.limits]\ncost = 1\n")
    assert_one_helpful_line(cli(*command), 2, "everlog.toml:3", "[plugn]", "did you mean [plugin]?")


def test_a_wrong_kind_of_value_in_the_configuration(cli: Cli) -> None:
    cli.config.write_text("[defaults]\nmodel = 3\n")
    assert_one_helpful_line(cli("run", "hello"), 2, "everlog.toml:2", "model")


def test_a_store_that_is_no_database(cli: Cli) -> None:
    cli.database.write_text("this is no database, and longer than a header of one would be" * 20)
    assert_one_helpful_line(cli("sessions"), 1, str(cli.database))


@pytest.mark.parametrize("command", ["sessions", "run"])
def test_a_store_that_cannot_be_opened_is_told_in_words_of_stores(cli: Cli, command: str) -> None:
    words = ["hello", "--model", cli.script("- Hello.")] if command == "run" else []
    (cli.work / "folder").mkdir()
    (cli.work / "file").write_text("no store\n" * 99)
    for url, said in (("sqlite:folder", "it is a folder"), ("sqlite:file", "not a database")):
        done = cli(command, *words, "--store", url)
        assert_one_helpful_line(done, done.code, "cannot be opened", said, "name another store")
        assert done.code in (1, 2)
        assert "plugin" not in done.err
    (cli.work / "file").unlink()


@contextmanager
def only_to_be_read(cli: Cli, folder: Path) -> Iterator[None]:
    """Take the right to write a folder and all in it from the commands, root's too."""
    inside = [folder, *folder.rglob("*")]
    cli.prefix = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    for path in inside:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        for path in inside:
            path.chmod(0o700 if path.is_dir() else 0o600)


def test_a_store_of_lines_that_may_only_be_read_is_looked_at(cli: Cli) -> None:
    url = f"jsonl://{cli.work}/lines"
    session = cli.ran("- Hello, zebra.", "go", "--store", url)["session"]
    with only_to_be_read(cli, cli.work / "lines"):
        assert [row["id"] for row in cli("sessions", "--json", "--store", url).json] == [session]
        assert [hit["session"] for hit in cli("sessions", "--search", "zebra", "--json", "--store", url).json] == [
            session
        ]
        assert "zebra" in cli("show", "--last", "--store", url).out
        assert cli("store", "check", "--store", url).code == 0
        assert "✓ store" in cli("doctor", "--store", url).out
        assert_one_helpful_line(cli("repair", session, "--store", url), 1, "Permission denied")


def test_a_database_that_may_only_be_read_says_what_to_do(cli: Cli) -> None:
    url = f"sqlite://{cli.work}/base/sessions.db"
    cli.ran("- Hello.", "go", "--store", url)
    with only_to_be_read(cli, cli.work / "base"):
        assert_one_helpful_line(cli("sessions", "--store", url), 1, "may not be written", "a copy")


@pytest.mark.parametrize(("url", "word"), [("nonsense:///x", "nonsense:"), ("sqlite:", "sqlite:"), ("x", "'x'")])
def test_a_store_url_that_nobody_knows(cli: Cli, url: str, word: str) -> None:
    assert_one_helpful_line(cli("sessions", "--store", url), 2, word)


@pytest.mark.parametrize(
    "command",
    [
        ["sessions"],
        ["show", "x"],
        ["stats"],
        ["verify"],
        ["request", "x"],
        ["fork", "x"],
        ["delete", "x"],
        ["repair", "x"],
        ["store", "check"],
        ["store", "gc"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("url", ["sqlite:///{}/none.db", "jsonl:///{}/none"])
def test_a_store_that_was_named_and_is_not_there_is_not_made(cli: Cli, url: str, command: list[str]) -> None:
    url = url.format(cli.work)
    assert_one_helpful_line(cli(*command, "--store", url), 1, f"no store at {url}")
    assert list(cli.work.iterdir()) == []


def test_a_copy_from_a_store_that_is_not_there_makes_neither(cli: Cli) -> None:
    source, target = f"sqlite:///{cli.work}/a.db", f"jsonl:///{cli.work}/b"
    assert_one_helpful_line(cli("store", "copy", source, target), 1, source)
    assert list(cli.work.iterdir()) == []


def test_an_option_that_a_kind_of_store_does_not_have(cli: Cli) -> None:
    model = cli.script("- Hello.")
    for url in ("sqlite:///x.db?mode=ro", "jsonl:///x?mode=ro", "jsonl:///x?compression=lzma", "memory:?mode=ro"):
        assert_one_helpful_line(cli("run", "go", "--model", model, "--store", url), 2, url)
    assert list(cli.work.iterdir()) == []


def test_a_script_that_is_none(cli: Cli) -> None:
    assert_one_helpful_line(cli("run", "hello", "--model", cli.script("{a: b}")), 2, "script")


def test_a_seq_that_the_session_does_not_have(cli: Cli) -> None:
    cli.ran("- Hello.")
    assert_one_helpful_line(cli("show", "--last", "--at", "9999"), 1, "0 to")


@pytest.mark.parametrize(("step", "code"), [("9.9", 1), ("1.1.9", 1), ("x", 2), ("1", 2)])
def test_a_step_that_the_session_does_not_have(cli: Cli, step: str, code: int) -> None:
    cli.ran("- Hello.")
    assert_one_helpful_line(cli("request", "--last", "--step", step), code, step)


def test_a_fork_inside_a_turn_names_the_nearest_legal_points(cli: Cli) -> None:
    cli.ran("- Hello.")
    assert_one_helpful_line(cli("fork", "--last", "--at", "2"), 1, "nearest", "--close-open-turn")
    beyond = cli("fork", "--last", "--at", "999")
    assert_one_helpful_line(beyond, 1, "nearest")
    assert "close" not in beyond.err


def test_debug_shows_where(cli: Cli) -> None:
    done = cli("show", "nothing", "--debug")
    assert done.code == 1
    assert "Traceback" in done.err


def test_a_store_url_with_a_nul_names_no_file(cli: Cli) -> None:
    done = cli("sessions", "--store", f"sqlite:///{cli.database}%00")
    assert_one_helpful_line(done, 2, "holds a NUL")


def test_stats_name_a_session_that_cannot_be_read_also_when_no_other_is_there(cli: Cli) -> None:
    folder = cli.work.parent / "logs"
    store = ("--store", f"jsonl:///{folder}")
    session = cli.ran("- Hello.", "go", *store)["session"]
    log = folder / "sessions" / session / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"go", b"no"))
    done = cli("stats", *store)
    assert "could not be read" in done.err, done
    assert session in done.err, done


@pytest.mark.parametrize("command", ["show", "fork", "verify", "delete", "repair"])
def test_a_name_that_is_no_text_names_no_session(cli: Cli, command: str) -> None:
    assert_one_helpful_line(cli(command, "\udcff\udcfe"), 1, "no session")


def test_nothing_in_place_of_a_name_is_never_the_one_session_in_the_trash(cli: Cli) -> None:
    (cli.work / "hello.yaml").write_text("- hello\n")
    id = cli("run", "hi", "--model", "script/hello.yaml", "--output", "json").json["session"]
    assert cli("delete", id).code == 0
    assert_one_helpful_line(cli("delete", "--undo", ""), 1, "no session")
    assert [one["id"] for one in cli("sessions", "--trash", "--json").json] == [id]


async def begin(url: str) -> None:
    """Make a store with nothing in it."""
    async with open_store(url):
        pass


@pytest.mark.parametrize("cursor", ["abc", "1.5", "-1", "9" * 30, "\udcff"])
@pytest.mark.parametrize("store", ["sqlite:///%s/x.db", "jsonl:///%s/x", "memory:"])
def test_a_cursor_that_is_none_is_said(cli: Cli, store: str, cursor: str) -> None:
    url = store.replace("%s", str(cli.work))
    asyncio.run(begin(url))
    assert_one_helpful_line(cli("sessions", "--after", cursor, "--store", url), 1, "no place in a list")


@pytest.mark.parametrize("words", ["\udcff", "a\udcffb", "\udcff\udcfe x"])
def test_words_that_are_no_text_are_found_nowhere(cli: Cli, words: str) -> None:
    done = cli("sessions", "--search", words, "--limit", "9" * 20)
    assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name of a file is text")
def test_a_folder_whose_name_is_no_utf8(cli: Cli) -> None:
    folder = os.fsencode(cli.work) + b"/caf\xe9"
    os.mkdir(folder)
    done = cli("run", "go", "--model", cli.script("- Hello."), "--cwd", os.fsdecode(folder))
    assert_one_helpful_line(done, 2, "caf", "rename it")


@pytest.mark.parametrize("group", ["auth", "store"])
def test_a_group_without_a_command(cli: Cli, group: str) -> None:
    assert_one_helpful_line(cli(group), 2, "Missing command", f"everlog {group} --help")


@pytest.mark.parametrize("query", ["compres=zstd", "compression=lzma"])
@pytest.mark.parametrize("command", [["sessions"], ["verify"], ["store", "check"]], ids=" ".join)
def test_a_wrong_option_is_told_before_that_no_store_is_there(cli: Cli, command: list[str], query: str) -> None:
    url = f"jsonl:///{cli.work}/none?{query}"
    assert_one_helpful_line(cli(*command, "--store", url), 2, url, "compression")


@pytest.mark.parametrize("url", ["SQLITE:///{}/x.db", "Jsonl:///{}/x?compression=zstd", "JSONL:x"])
def test_a_scheme_in_capitals_is_taken_as_what_it_is(cli: Cli, url: str) -> None:
    url = url.format(cli.work)
    assert_one_helpful_line(cli("sessions", "--store", url), 1, f"no store at {url}")
    asyncio.run(begin(str(url).replace(":x", f":{cli.work}/x")))
    small = url.replace(url.partition(":")[0], url.partition(":")[0].lower())
    assert cli("sessions", "--store", url, "--json").json == cli("sessions", "--store", small, "--json").json == []
    assert_one_helpful_line(cli("store", "copy", url, small), 2, "copied from")


def test_a_named_store_in_memory_is_one_however_its_scheme_is_written() -> None:
    async def work() -> None:
        async with open_store("MEMORY:capitals") as one, open_store("memory:capitals") as other:
            assert one.backend is other.backend
            assert one.url == "memory:capitals"

    asyncio.run(work())
