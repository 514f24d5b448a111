"""`everlog doctor` and `everlog plugins` say what is there, what is missing, and what to do."""

from __future__ import annotations

from tests.cli.conftest import Cli


def findings(cli: Cli, **env: str) -> dict[str, dict[str, str]]:
    return {row["subject"]: row for row in cli("doctor", "--json", env=env).json}


def test_what_is_missing_comes_with_how_to_add_it(cli: Cli) -> None:
    found = findings(cli)
    assert found["provider openai"]["state"] == "missing"
    assert "OPENAI_API_KEY" in found["provider openai"]["fix"]
    assert found["default model"]["state"] == "missing"
    assert "--model" in found["default model"]["fix"]
    assert cli("doctor").code == 0


def test_a_key_that_is_there_is_not_shown(cli: Cli) -> None:
    secret = "sk-this-is-secret"
    assert findings(cli, OPENAI_API_KEY=secret)["provider openai"]["state"] == "ok"
    assert secret not in cli("doctor", env={"OPENAI_API_KEY": secret}).out


def test_a_broken_configuration_is_broken_with_its_line(cli: Cli) -> None:
    cli.config.write_text('[defaults]\nmodel = "x\n')
    done = cli("doctor")
    assert done.code == 1
    assert f"{cli.config}:2" in done.out
    assert done.err == ""


def test_a_broken_store_and_a_wrong_default_model_are_broken(cli: Cli) -> None:
    cli.database.write_text("no database" * 200)
    cli.config.write_text('[defaults]\nmodel = "nobody/x"\n')
    found = findings(cli)
    assert (found["store"]["state"], found["default model"]["state"]) == ("broken", "broken")
    assert cli("doctor").code == 1


def test_looking_at_a_store_that_is_not_there_yet_makes_none(cli: Cli) -> None:
    store = findings(cli)["store"]
    assert store["state"] == "ok"
    assert f"no store at sqlite:///{cli.database} yet" in store["detail"]
    assert not cli.database.exists()


def test_a_store_that_was_named_and_is_not_there_is_broken(cli: Cli) -> None:
    done = cli("doctor", "--store", f"jsonl:///{cli.work}/nowhere")
    assert done.code == 1
    assert "there is no store at" in done.out
    assert list(cli.work.iterdir()) == []


def test_a_plain_installation_has_no_plugin_that_waits(cli: Cli) -> None:
    states = {row["name"]: row["status"] for row in cli("plugins", "--json").json}
    assert (states["loop"], states["rerun"], states["delegation"]) == ("active", "active", "disabled")
    assert set(states.values()) == {"active", "disabled"}
    assert not cli.database.exists()


def test_plugins_are_listed_with_state_and_reason(cli: Cli) -> None:
    cli.config.write_text('[plugins]\ndisable = ["models"]\nenable = ["no-such-plugin"]\n')
    states = {row["name"]: row for row in cli("plugins", "--json").json}
    assert states["tools"]["status"] == "active"
    assert states["models"]["status"] == "disabled"
    assert (states["loop"]["status"], "Models" in states["loop"]["reason"]) == ("pending", True)
    assert (states["no-such-plugin"]["status"], "not installed" in states["no-such-plugin"]["reason"]) == (
        "failed",
        True,
    )
    text = cli("plugins").out
    assert "waits for Models" in text
