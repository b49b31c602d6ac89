"""The providers by kind, one line each, imported only when an account needs them; and the layers around them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from postroom.model.errors import InvalidRequest, Unsupported
from postroom.providers.context import ProviderContext
from postroom.providers.import_report import ImportReport, Progress
from postroom.providers.layers.layered import Layer, Layered, unwrapped
from postroom.providers.layers.limit import Limit
from postroom.providers.layers.log import Log
from postroom.providers.layers.read_only import read_only
from postroom.providers.layers.retry import Retry

if TYPE_CHECKING:
    from postroom.model.folder import Folder
    from postroom.model.rule import Rule
    from postroom.providers.protocol import Mailbox, Transport
    from postroom.providers.setup import AccountSetup
    from postroom.settings import AccountSettings

MAILBOXES: Mapping[str, str] = {
    "local": "postroom.providers.local.provider:LocalMailbox",
    "imap": "postroom.providers.imap.provider:ImapMailbox",
    "jmap": "postroom.providers.jmap.provider:JmapMailbox",
    "gmail": "postroom.providers.gmail.provider:GmailMailbox",
    "graph": "postroom.providers.graph.provider:GraphMailbox",
    "rest": "postroom.providers.rest.provider:RestMailbox",
}

TRANSPORTS: Mapping[str, str] = {
    "local": "postroom.providers.local.provider:LocalTransport",
    "imap": "postroom.providers.imap.smtp.transport:SmtpTransport",
    "jmap": "postroom.providers.jmap.transport:JmapTransport",
    "gmail": "postroom.providers.gmail.transport:GmailTransport",
    "graph": "postroom.providers.graph.transport:GraphTransport",
    "rest": "postroom.providers.rest.transport:RestTransport",
}

IMPORTERS: Mapping[str, str] = {
    "local": "postroom.providers.local.importing:import_path",
}

SAMPLES: Mapping[str, str] = {
    "local": "postroom.providers.local.sample:fill",
}


SETUPS: Mapping[str, str] = {
    "gmail": "postroom.providers.gmail.setup:GmailSetup",
    "graph": "postroom.providers.graph.setup:GraphSetup",
    "imap": "postroom.providers.imap.setup:ImapSetup",
    "jmap": "postroom.providers.jmap.setup:JmapSetup",
    "local": "postroom.providers.local.setup:LocalSetup",
    "rest": "postroom.providers.rest.setup:RestSetup",
}


# How servers write rules down, by the name of the form.
RULE_FORMS: Mapping[str, str] = {
    "sieve": "postroom.providers.sieve:server_form",
    "gmail": "postroom.providers.gmail.rules:server_form",
    "graph": "postroom.providers.graph.rules:server_form",
}


def server_form(form: str, rule: Rule, folders: list[Folder]) -> tuple[str, tuple[str, ...]]:
    """The rule as such a server would be given it, and what of it cannot be expressed; one of them is empty."""
    written: tuple[str, tuple[str, ...]] = _load(RULE_FORMS, form)(rule, folders)
    return written


def setup_of(kind: str) -> AccountSetup:
    return cast("AccountSetup", _load(SETUPS, kind)())


def open_mailbox(account: AccountSettings, context: ProviderContext) -> Mailbox:
    """Nothing is opened or logged in yet: `connect` does that."""
    bare = _load(MAILBOXES, account.provider)(account, context)
    return cast("Mailbox", wrap(bare, account, context))


def open_transport(account: AccountSettings, context: ProviderContext, mailbox: Mailbox) -> Transport:
    """`mailbox` is the same account's, with or without layers; a transport may share its connection or file."""
    bare = _load(TRANSPORTS, account.provider)(account, context, unwrapped(mailbox))
    return cast("Transport", wrap(bare, account, context))


def open_shared(derived: AccountSettings, context: ProviderContext, mailbox: Mailbox) -> Mailbox:
    """The mailbox of `derived.address` over the login of a connected mailbox."""
    bare = unwrapped(mailbox).shared_mailbox(derived.address)
    return cast("Mailbox", wrap(bare, derived, context))


async def import_archive(
    account: AccountSettings,
    mailbox: Mailbox,
    path: Path,
    *,
    folder: str | None = None,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Imports an mbox file, a Gmail Takeout or a Maildir; running it again adds nothing twice."""
    take = _load_extra(IMPORTERS, account.provider, "import of mail archives")
    report: ImportReport = await take(path, unwrapped(mailbox), folder=folder, on_progress=on_progress)
    return report


async def fill_with_sample(account: AccountSettings, mailbox: Mailbox) -> int:
    """Adds the sample messages to a connected mailbox that is empty; returns their number."""
    fill = _load_extra(SAMPLES, account.provider, "sample mailbox")
    filled: int = await fill(unwrapped(mailbox), account.address)
    return filled


def wrap(bare: object, account: AccountSettings, context: ProviderContext) -> Layered:
    """Every layer, innermost first: each attempt respects the rate limit, and a refusal is logged like any result."""
    layers: list[Layer] = [Limit(), Retry()]
    if context.read_only:
        layers.append(read_only)
    layers.append(Log(account.name, account.provider))
    return Layered(bare, account.provider, layers)


def _load(table: Mapping[str, str], kind: str) -> Any:
    try:
        module, _, name = table[kind].partition(":")
        return getattr(import_module(module), name)
    except (KeyError, ImportError, AttributeError) as error:
        reason = "is unknown" if kind not in table else f"cannot be loaded ({_missing(error)})"
        raise InvalidRequest(
            f"The provider '{kind}' {reason}. Choose one of: {', '.join(sorted(table))}.",
            details={"provider": kind, "available": sorted(table)},
        ) from error


def _load_extra(table: Mapping[str, str], kind: str, feature: str) -> Any:
    if kind not in table:
        raise Unsupported(kind, feature)
    return _load(table, kind)


def _missing(error: Exception) -> str:
    return f"missing module {error.name}" if isinstance(error, ImportError) and error.name else "incomplete install"
