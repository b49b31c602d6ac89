"""The documentation says what the code does: settings, tools, commands, links."""

from __future__ import annotations

import argparse
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any, get_args

import pytest

from postroom.doors.cli.main import build_parser
from postroom.doors.mcp import dialects
from postroom.doors.mcp.serve import server_for
from postroom.doors.mcp.server import load_dialect
from postroom.providers.registry import MAILBOXES
from postroom.settings import build
from postroom.settings.accounts import BY_PROVIDER, Account, IdentitySettings, ServerAccount
from postroom.settings.fields import Section
from postroom.settings.model import ConfigFile
from postroom.settings.oauth import OAuthSettings
from postroom.settings.sections import Dialect, Toolset

from .tree import ROOT, pages, shown

SHARED = {"provider", *Account.model_fields}  # by the accounts of every provider
CONFIGURATION = ROOT / "docs" / "configuration.md"


# Every account at a server has these; they are documented once.
MIRROR = set(ServerAccount.__annotations__)


def documented_sections() -> dict[str, type[Section]]:
    """Heading in the page -> the table it documents. A provider that cannot be opened yet is not to be found there."""
    tables = {name: field.annotation for name, field in ConfigFile.model_fields.items() if name != "accounts"}
    providers = {kind: model for kind, model in BY_PROVIDER.items() if kind in MAILBOXES}
    return {
        **{f"[{name}]": model for name, model in tables.items()},
        **providers,
        "oauth": OAuthSettings,
        "identities": IdentitySettings,
    }  # type: ignore[dict-item]


def documented_keys(heading: str) -> dict[str, str]:
    """Key -> default, as the table below that heading gives them."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    below = re.search(rf"^##+ `{re.escape(heading)}`$(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert below is not None, f"docs/configuration.md has no section `{heading}`"
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", below[1], re.MULTILINE))


@pytest.mark.parametrize("heading", documented_sections())
def test_every_setting_is_documented_and_nothing_else(heading: str) -> None:
    shared = {*SHARED, *MIRROR} if heading in BY_PROVIDER else set()
    assert set(documented_keys(heading)) | shared == set(documented_sections()[heading].model_fields) | shared


@pytest.mark.parametrize("heading", documented_sections())
def test_documented_defaults_are_the_real_ones(heading: str) -> None:
    fields = documented_sections()[heading].model_fields
    for key, written in documented_keys(heading).items():
        if (literal := re.fullmatch(r"`(.*)`", written.strip())) is not None:
            assert literal[1] == _as_toml(fields[key].get_default()), key
        elif written.strip() == "required":
            assert fields[key].is_required(), key


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_as_toml(item) for item in value) + "]"
    return str(value) if isinstance(value, int) else f'"{value if value is not None else ""}"'


def test_only_what_exists_is_documented() -> None:
    text = CONFIGURATION.read_text(encoding="utf-8")
    choices = dict(re.findall(r"^\| `(dialect|toolsets|provider)` \| .*? \| (.*) \|$", text, re.MULTILINE))
    spoken = {module.name for module in pkgutil.iter_modules(dialects.__path__)}

    def absent(kind: Any, present: Iterable[str]) -> set[str]:
        return {name for name in get_args(kind) if name not in present}

    assert not absent(Dialect, spoken) & set(re.findall(r"\w+", choices["dialect"]))
    toolsets = {toolset.name for name in spoken for toolset in load_dialect(name).TOOLSETS}
    assert not absent(Toolset, toolsets) & set(re.findall(r"\w+", choices["toolsets"]))
    assert set(BY_PROVIDER) & set(re.findall(r"\w+", choices["provider"])) == set(MAILBOXES)
    assert set(re.findall(r"^### `(\w+)`$", text, re.MULTILINE)) == set(MAILBOXES)


def test_what_a_mistake_in_the_settings_proposes_exists() -> None:
    spoken = {module.name for module in pkgutil.iter_modules(dialects.__path__)}
    toolsets = {toolset.name for name in spoken for toolset in load_dialect(name).TOOLSETS}

    assert set(get_args(Dialect)) == spoken
    assert set(get_args(Toolset)) == toolsets
    assert set(BY_PROVIDER) == set(MAILBOXES)


async def test_the_page_of_prompts_has_every_prompt_with_its_arguments_and_nothing_else(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|", page, re.MULTILINE)
    written = {name: (re.findall(r"`(\w+)`", arguments), toolsets.split(", ")) for name, _, arguments, toolsets in rows}
    accounts = [{"name": "work", "provider": "local", "address": "alice@example.com"}]

    async def offered(*toolsets: str) -> dict[str, list[str]]:
        settings = build({"accounts": accounts, "server": {"toolsets": list(toolsets)}}, home=tmp_path)
        prompts = await server_for(settings).list_prompts()
        return {each.name: [argument.name for argument in each.arguments or ()] for each in prompts}

    assert {name: arguments for name, (arguments, _) in written.items()} == await offered(*get_args(Toolset)[:4])
    for name, (_, toolsets) in written.items():
        assert name in await offered(*toolsets)
        for left_out in toolsets:
            assert name not in await offered(*({"organise", *toolsets} - {left_out}))


def test_shared_account_keys_are_documented() -> None:
    assert set(documented_keys("[[accounts]]")) == SHARED
    assert documented_keys("mirror") == {
        key: f"`{_as_toml(ServerAccount.model_fields[key].get_default())}`" for key in sorted(MIRROR)
    }


@pytest.mark.parametrize("path", pages(), ids=shown)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            linked = (path.parent / file).resolve() if file else path
            assert linked.exists(), target
            assert not anchor or anchor in _anchors(linked), target


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = build_parser(lambda *args, **kwargs: None)
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def flags_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Its own and those of its verbs."""
    for action in parser._actions:
        yield from action.option_strings
        for verb in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from flags_of(verb)


def mentioned_commands(path: Path) -> Iterator[tuple[str, str]]:
    """Command and the rest of its line, wherever a page shows one in code."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|console|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown_code = [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", text)
    for line in shown_code:
        if (found := re.match(r"(?:\S*/)?postroom ([a-z]+)(.*)", line.split(" # ")[0].strip())) is not None:
            yield found[1], found[2]


@pytest.mark.parametrize("path", pages(), ids=shown)
def test_every_command_and_flag_that_is_mentioned_exists(path: Path) -> None:
    known = commands()
    for command, rest in mentioned_commands(path):
        assert command in known, f"postroom {command}"
        flags = set(flags_of(known[command]))
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= flags, f"postroom {command}{rest}"


@pytest.mark.parametrize("path", pages(), ids=shown)
def test_every_make_target_that_is_mentioned_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    mentioned = re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(mentioned) <= targets


def test_generated_tables_are_up_to_date() -> None:
    """`make docs` writes them."""
    import runpy

    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    for page, text in generate["rendered"]().items():
        assert (ROOT / PurePath(page)).read_text(encoding="utf-8") == text, f"run make docs: {page} is out of date"
