"""The table of the least permissions of each tool, for people; generated from the tools and the providers' tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from postroom.doors.mcp.server import dialect_names, load_dialect
from postroom.doors.mcp.toolbox import ToolSpec
from postroom.service.accounts.permissions import LoginKind, login_kinds, right_of

Rights = tuple[str, ...]

# Tools that need other rights than their toolset says. A test compares all of them with what the tools really call.
_OTHER_RIGHTS: dict[str, Rights] = {
    "list_accounts": (),
    "list_outbox": (),
    "cancel_send": ("send",),  # what was staged at the provider is removed
    "list_templates": (),
    "save_template": (),  # a file of ours
    "render_template": (),
    "delete_draft": ("read", "organise"),  # it is moved to the trash
    "create_rule": ("read",),  # rules are kept and run here; only `postroom rules upload` writes some to the provider
    "list_rules": (),
    "get_vacation": ("read", "vacation"),
    "run_rule": ("read", "organise", "send"),  # the last where a rule forwards
    "delete_rule": (),
}
_COMMON_START = re.compile(r"https://(?:www\.googleapis\.com/auth/|outlook\.office\.com/|www\.fastmail\.com/dev/)")


def rights_of(spec: ToolSpec) -> Rights:
    """Everything but reading needs reading too: messages, folders and identities are looked up first."""
    if spec.name in _OTHER_RIGHTS:
        return _OTHER_RIGHTS[spec.name]
    return ("read",) if spec.read_only else ("read", right_of(spec.toolset))


def render() -> str:
    """Markdown: a table for each dialect, with a row for the tools that need the same and a column for each login."""
    logins = list(login_kinds())
    return "\n".join(line for name in dialect_names() for line in _table(name, logins))


def _table(dialect: str, logins: Sequence[LoginKind]) -> Iterator[str]:
    tools: dict[Rights, list[str]] = defaultdict(list)
    for toolset in load_dialect(dialect).TOOLSETS:
        for spec in toolset.specs:
            tools[rights_of(spec)].append(f"`{spec.name}`")
    yield from (f"## Dialect `{dialect}`", "")
    yield f"| tools | {' | '.join(map(_heading, logins))} |"
    yield "|---" * (len(logins) + 1) + "|"
    for rights, names in tools.items():
        yield f"| {', '.join(names)} | {' | '.join(_cell(login, rights) for login in logins)} |"
    yield ""


def _heading(login: LoginKind) -> str:
    return f"{login.provider}, {login.service.capitalize()} login" if login.service else login.provider


def _cell(login: LoginKind, rights: Rights) -> str:
    needed = login.least(rights) if rights else ()
    return ", ".join(f"`{_COMMON_START.sub('', name)}`" if login.service else name for name in needed) or "nothing"
