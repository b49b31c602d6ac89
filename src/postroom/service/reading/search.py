"""Find messages: a folder's newest, or all that match a query, in one account or in all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import Role
from postroom.model.query.text import parse_query
from postroom.model.query.tree import Correspondent, In, Is, Leaf, Node, Or, Query
from postroom.model.query.widening import widened
from postroom.service.accounts.folders import find_folder
from postroom.service.concurrently import answers_of
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import rows
from postroom.service.reading.filters import NO_FILTERS, Filters
from postroom.service.reading.one_list import AHEAD, in_one_list, moment_of
from postroom.service.views import EmailPage

MAX_LIMIT = 100
MAX_OFFSET = 100_000


async def list_emails(
    gateway: Gateway,
    *,
    account: str | None = None,
    mailbox: str = "INBOX",
    limit: int = 20,
    offset: int = 0,
    unread_only: bool = False,
) -> EmailPage:
    query = Query().narrowed(Is("unread")) if unread_only else Query()
    return await _find(gateway, query, account, mailbox, limit, offset)


async def search_emails(
    gateway: Gateway,
    query: str,
    *,
    account: str | None = None,
    mailbox: str | None = None,
    limit: int = 20,
    offset: int = 0,
    filters: Filters = NO_FILTERS,
) -> EmailPage:
    """Without `mailbox` or ``in:`` every folder but Trash and Junk is searched."""
    zone = gateway.settings.server.zone
    wanted = filters.narrow(parse_query(query, now=gateway.now(), zone=zone), zone)
    return await _find(gateway, wanted, account, mailbox, limit, offset)


async def with_own_addresses(account: Account, query: Query) -> Query:
    """``from:me``, ``to:me`` and ``cc:me`` mean every address of the account."""
    if not any(_is_me(leaf) for leaf in query.leaves()):
        return query
    own = [identity.address.email for identity in await account.identities.get()]

    def named(leaf: Leaf) -> Node:
        if not (isinstance(leaf, Correspondent) and _is_me(leaf)):
            return leaf
        mine = tuple(Correspondent(leaf.field, email) for email in own)
        return mine[0] if len(mine) == 1 else Or(mine)

    return query.mapped(named)


def _is_me(leaf: Leaf) -> bool:
    return isinstance(leaf, Correspondent) and leaf.value.casefold() == "me"


def check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidRequest(f"limit must be between 1 and {MAX_LIMIT}.", details={"field": "limit"})
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidRequest(f"offset must be between 0 and {MAX_OFFSET}.", details={"field": "offset"})


async def _find(
    gateway: Gateway, query: Query, account: str | None, mailbox: str | None, limit: int, offset: int
) -> EmailPage:
    check_page(limit, offset)
    names = gateway.accounts.names(account)
    if len(names) == 1:
        return await _find_in(gateway, query, names[0], mailbox, limit, offset)
    most = offset + limit + AHEAD
    answers = await answers_of([partial(_find_in, gateway, query, name, mailbox, most, 0) for name in names])
    pages = [answer for answer in answers if isinstance(answer, EmailPage)]
    failed = {name: answer for name, answer in zip(names, answers, strict=True) if isinstance(answer, PostroomError)}
    if not pages:
        raise next(iter(failed.values()))
    return _without(_merged(pages, limit, offset), failed)


def _without(page: EmailPage, failed: dict[str, PostroomError]) -> EmailPage:
    """A page that some accounts are missing from says which, and why; how many messages there are is then unknown."""
    if not failed:
        return page
    return replace(
        page,
        total_count=None,
        filters_not_applied=(*page.filters_not_applied, *(f"account:{name}" for name in failed)),
        notices=(
            *page.notices,
            *(f"Account {name} was not searched. {error.message}" for name, error in failed.items()),
        ),
    )


async def _find_in(
    gateway: Gateway, query: Query, name: str, mailbox: str | None, limit: int, offset: int
) -> EmailPage:
    account = await gateway.accounts.open(name)
    where = (await _place(account, mailbox),) if mailbox else ()
    query = (await with_own_addresses(account, query)).narrowed(*where)
    query, left_out = widened(query, account.capabilities.search_not_applied)
    page = await account.mailbox.search(query, limit=limit, offset=offset)
    as_of = gateway.shown_time(page.as_of) if page.as_of else ""
    return EmailPage(
        results=await rows(gateway, account, page.items, where[0].folder if where else "", page.conversations),
        total_count=page.total if page.complete else None,
        limit=limit,
        offset=offset,
        has_more=page.has_more,
        filters_not_applied=tuple(sorted({*page.not_applied, *left_out})),
        notices=() if page.complete else (_not_all(name, as_of),),
        as_of=as_of,
        complete=page.complete,
    )


def _not_all(account: str, as_of: str) -> str:
    when = f", as of {as_of}" if as_of else ""
    return f"Not all mail of account {account} was searched, only what its mirror has{when}."


async def _place(account: Account, mailbox: str) -> In:
    """Every mailbox has an inbox: for that one the provider need not be asked."""
    is_inbox = mailbox.casefold() == Role.INBOX.value
    return In(Role.INBOX.value if is_inbox else (await find_folder(account, mailbox)).name)


def _merged(pages: list[EmailPage], limit: int, offset: int) -> EmailPage:
    found = in_one_list([page.results for page in pages])
    totals = [page.total_count for page in pages]
    return EmailPage(
        results=tuple(found[offset : offset + limit]),
        total_count=None if None in totals else sum(total or 0 for total in totals),
        limit=limit,
        offset=offset,
        has_more=len(found) > offset + limit or any(page.has_more for page in pages),
        filters_not_applied=tuple(sorted({name for page in pages for name in page.filters_not_applied})),
        notices=tuple(notice for page in pages for notice in page.notices),
        as_of=min((page.as_of for page in pages if page.as_of), key=moment_of, default=""),
        complete=all(page.complete for page in pages),
    )
