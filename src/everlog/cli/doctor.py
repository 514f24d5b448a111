"""`everlog doctor`: what is configured, what is missing, and how to fix it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import click

from everlog.cli.exits import FAILED, OK
from everlog.cli.hints import hinted
from everlog.cli.logs import set_up_logs
from everlog.cli.options import declare, json_option, store_option
from everlog.cli.output import counted, write_json
from everlog.cli.plain import one_line
from everlog.cli.settings import default_model, existing_url, load_config, store_url
from everlog.declared import with_vocabulary
from everlog.errors import EverlogError
from everlog.kernel import Config, ConfigError, Discovery, Kernel, Status, discover
from everlog.llm.seam import Models, ProviderUnavailable
from everlog.mcp.plugin import McpServers
from everlog.mcp.settings import brought
from everlog.session import CORE, Vocabulary

_MARKS = {"ok": ("✓", "green"), "missing": ("○", "yellow"), "broken": ("✗", "red")}
_NEEDS_A_FILE = {"script", "rerun"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: what it is.
        state: `ok`, `missing` (it can be added, and Everlog works without), or `broken`.
        detail: what was found.
        fix: what to do about it; empty when nothing is.
    """

    subject: str
    state: str
    detail: str
    fix: str = ""


@declare("doctor")
@json_option
@store_option
def command(as_json: bool, store: str | None) -> int:
    """Say what is configured, what is missing, and how to fix it.

    Looks at the configuration, the store, the plugins, the providers of models, the MCP servers and the programs
    that tools use. Asks no model. The exit code is 1 when something is broken.
    """
    set_up_logs()
    findings = asyncio.run(_examine(store))
    if as_json:
        write_json(findings)
    else:
        for finding in findings:
            _tell(finding)
    return FAILED if any(finding.state == "broken" for finding in findings) else OK


async def _examine(store: str | None) -> list[Finding]:
    try:
        config = load_config()
    except ConfigError as error:
        return [Finding("configuration", "broken", str(error), "mend the file, or take it away")]
    return [
        _configuration(config),
        *await _store_plugins_and_models(config, store),
        *_programs(),
        *_protections(config),
    ]


def _configuration(config: Config) -> Finding:
    files = ", ".join(str(path) for path in config.paths)
    return Finding("configuration", "ok", files or "no everlog.toml; the defaults hold")


async def _store_plugins_and_models(config: Config, given: str | None) -> list[Finding]:
    """Look at the store as sessions see it: with the types, rules and projections that plugins declare."""
    try:
        found, words = with_vocabulary(discover(config))
    except ConfigError as error:
        wrong = Finding("plugins", "broken", str(error), "mend [plugins] in the configuration")
        return [await _store(config, given, CORE), wrong]
    return [await _store(config, given, words), *await _plugins_and_models(config, found)]


async def _store(config: Config, given: str | None, words: Vocabulary) -> Finding:
    import sqlite3

    from everlog.store import open_store

    url = store_url(given, config)
    try:
        if existing_url(given, config) is None:
            return Finding("store", "ok", f"no store at {url} yet; the first run makes it")
        async with open_store(url, vocabulary=words) as store:
            some = await store.list(limit=1)
    except (EverlogError, OSError, sqlite3.Error) as error:
        return Finding(
            "store", "broken", f"{url}: {hinted(str(error))}", "name another with --store URL, or mend this one"
        )
    return Finding("store", "ok", f"{url}{'' if some else ' (no sessions yet)'}")


async def _plugins_and_models(config: Config, found: Discovery) -> list[Finding]:
    async with Kernel(found.plugins, config, found.absent) as kernel:
        failed = [state for state in kernel.states() if state.status is Status.FAILED]
        active = sum(state.status is Status.ACTIVE for state in kernel.states())
        findings = [Finding("plugins", "ok", f"{active} active; `everlog plugins` lists them")]
        for state in failed:
            fix = f'mend it, or leave it out with [plugins] disable = ["{state.name}"]'
            findings.append(Finding(f"plugin {state.name}", "broken", state.reason, fix))
        if Models in kernel:
            findings += _models(kernel[Models], config)
        if McpServers in kernel:
            findings += _mcp_servers(kernel[McpServers], config)
    return findings


def _models(models: Models, config: Config) -> list[Finding]:
    findings = [_provider(models, name) for name in models.list() if name not in _NEEDS_A_FILE]
    name = default_model(config)
    if name is None:
        fix = 'name one with --model, EVERLOG_MODEL, or [defaults] model = "PROVIDER/MODEL" in everlog.toml'
        return [*findings, Finding("default model", "missing", "none is configured", fix)]
    try:
        models.resolve(name)
    except EverlogError as error:
        return [*findings, Finding("default model", "broken", str(error), "name another, or add what is missing")]
    return [*findings, Finding("default model", "ok", name)]


def _provider(models: Models, name: str) -> Finding:
    """Tell whether a provider can be used; a key that is there is not tried."""
    try:
        models.resolve(f"{name}/any")
    except ProviderUnavailable as error:
        return Finding(f"provider {name}", "missing", "not ready", str(error))
    except EverlogError:
        pass  # it is ready, and only has no model of that name
    return Finding(f"provider {name}", "ok", "ready")


def _mcp_servers(running: McpServers, config: Config) -> list[Finding]:
    findings = []
    for name, one in running.items():
        state, detail = "ok", f"answers, with {counted(len(one.tools), 'tool')}"
        if not one.connection.is_up:
            state, detail = "broken", one.connection.failure or "it does not answer"
        fix = "" if state == "ok" else f"mend [mcp.servers.{name}]; `everlog mcp test {name}` tries it"
        findings.append(Finding(f"mcp server {name}", state, detail, fix))
    for name in brought(config):
        detail = "the project's file names it, and so it is not started"
        findings.append(Finding(f"mcp server {name}", "missing", detail, "name it in your own everlog.toml to use it"))
    return findings


def _programs() -> list[Finding]:
    import shutil

    wanted = {"git": "for workspace snapshots and worktrees", "bash": "for the tool `bash`"}
    findings = []
    for name, use in wanted.items():
        path = shutil.which(name)
        fix = "" if path else f"install {name} with the system's packages"
        findings.append(Finding(f"program {name}", "ok" if path else "missing", path or f"not found; {use}", fix))
    return findings


def _protections(config: Config) -> list[Finding]:
    from everlog.tools.doctor import protections

    try:
        found = protections(config)
    except ConfigError as error:
        return [Finding("permissions", "broken", str(error), "mend the file, or take the rule away")]
    return [Finding(one.subject, "ok" if one.active else "missing", one.detail, one.fix) for one in found]


def _tell(finding: Finding) -> None:
    mark, colour = _MARKS[finding.state]
    click.echo(f"{click.style(mark, fg=colour)} {one_line(finding.subject)}: {one_line(finding.detail)}")
    if finding.fix:
        click.echo(f"    {one_line(finding.fix)}")
