"""`everlog models` and `everlog auth`: what is known, where keys come from, and that none is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli

RING = """
import json, os
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    priority = 1
    path = os.environ["RING_FILE"]

    def _all(self):
        return json.load(open(self.path)) if os.path.exists(self.path) else {}

    def _keep(self, held):
        json.dump(held, open(self.path, "w"))

    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")

    def set_password(self, service, username, password):
        self._keep(self._all() | {f"{service} {username}": password})

    def delete_password(self, service, username):
        held = self._all()
        del held[f"{service} {username}"]
        self._keep(held)
"""


@pytest.fixture
def ringed(cli: Cli, tmp_path: Path) -> Cli:
    """A command line on a machine with a keyring of its own."""
    (tmp_path / "ring.py").write_text(RING)
    backend = {"PYTHON_KEYRING_BACKEND": "ring.Ring", "RING_FILE": str(tmp_path / "ring.json")}
    cli.environment |= {**backend, "PYTHONPATH": str(tmp_path)}
    return cli


def test_models_are_listed_with_what_is_known_of_them(cli: Cli) -> None:
    cli.config.write_text(
        '[provider.lab]\nbase_url = "http://lab/v1"\nkey_env = "LAB_KEY"\n'
        '[model."lab/m"]\ncontext_window = 4096\nprice = { input = 1.5, output = 2 }\n'
    )
    rows = cli("models", "lab", "--json", env={"LAB_KEY": "secret-value"}).json
    assert [row["name"] for row in rows] == ["lab/m", "lab/…"]
    assert (rows[0]["contextWindow"], rows[0]["keyEnv"], rows[0]["key"]) == (4096, "LAB_KEY", "environment")
    table = cli("models").out
    assert "4,096" in table
    assert "1.5 in, 2 out" in table
    assert "missing: LAB_KEY" in table
    assert "openai/gpt-4.1" in table


def test_an_unknown_provider_is_one_line_that_names_the_known_ones(cli: Cli) -> None:
    done = cli("models", "opnai")
    assert (done.code, done.out) == (2, "")
    assert "no provider 'opnai'; known: anthropic" in done.err
    assert done.err.count("\n") == 1


def test_a_key_is_kept_listed_used_and_forgotten_and_never_shown(ringed: Cli) -> None:
    shown = [ringed("auth", "set", "deepseek", input="sk-secret-0123\n")]
    listed = ringed("auth", "list", "--json")
    shown += [listed, ringed("auth", "list"), ringed("models", "deepseek")]
    sources = {row["provider"]: row["source"] for row in listed.json}
    assert (sources["deepseek"], sources["openai"]) == ("keyring", None)
    assert "keyring" in shown[3].out
    shown.append(ringed("auth", "remove", "deepseek"))
    assert "missing" in ringed("models", "deepseek").out
    assert all(done.code == 0 for done in shown)
    assert not any("sk-secret" in done.out + done.err for done in shown)


def test_a_key_that_cannot_be_kept_is_one_helpful_line(cli: Cli) -> None:
    cli.environment |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    done = cli("auth", "set", "openai", input="k")
    assert done.code == 1
    assert "set the environment variable instead" in done.err
    assert cli("auth", "set", "nobody", input="k").code == 2
    assert cli("auth", "set", "openai", input=" ").code == 2
