"""A login that renews itself: once, durably, and with a clear word when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from postroom.model.errors import AuthRequired, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.oauth.keeping import Keeping, Login
from postroom.providers.oauth.source import OAuthTokens
from postroom.service.accounts.oauth_logins import keep_login
from postroom.settings import ImapAccount, SettingsError, secrets
from postroom.settings.mailboxes import secrets_name

from .authorisation import Authorisation
from .conftest import NOW

Make = Callable[..., OAuthTokens]


async def test_a_token_that_is_valid_is_used_without_asking(idp: Authorisation, logged_in: Login, source: Make) -> None:
    tokens = source()
    assert [await tokens.token(), await tokens.token()] == ["access-0", "access-0"]
    assert idp.forms == []


async def test_a_token_about_to_expire_is_renewed_and_the_new_one_used(
    idp: Authorisation, logged_in: Login, source: Make
) -> None:
    tokens = source(NOW + 3550)
    new = await tokens.token()
    assert new not in ("", "access-0")
    assert await tokens.token() == new
    assert idp.refreshes == [
        {"grant_type": "refresh_token", "refresh_token": logged_in.refresh_token, "client_id": "client-1"}
    ]


async def test_a_rotated_refresh_token_is_kept_with_the_one_before_until_it_has_worked(
    idp: Authorisation, logged_in: Login, source: Make
) -> None:
    tokens = source()
    await tokens.refreshed("access-0")
    first = Keeping("work").read()
    assert first.previous == logged_in.refresh_token
    assert first.refresh_token in idp.refresh_tokens
    await tokens.refreshed(first.access_token)
    second = Keeping("work").read()
    assert (second.previous, second.refresh_token in idp.refresh_tokens) == (first.refresh_token, True)


async def test_a_service_that_does_not_rotate_keeps_its_refresh_token(
    idp: Authorisation, logged_in: Login, source: Make
) -> None:
    idp.rotates = False
    await source().refreshed("access-0")
    kept = Keeping("work").read()
    assert (kept.refresh_token, kept.previous) == (logged_in.refresh_token, "")


async def test_the_refresh_token_before_is_tried_when_the_new_one_never_worked(
    idp: Authorisation, source: Make
) -> None:
    Keeping("work").write(Login("access-0", NOW, "never-arrived", previous=idp.issue()))
    assert await source().token()
    assert Keeping("work").read().refresh_token in idp.refresh_tokens


@pytest.mark.parametrize("previous", ["", "void-too"])
async def test_a_withdrawn_login_says_which_command_to_run(idp: Authorisation, source: Make, previous: str) -> None:
    Keeping("work").write(Login("access-0", NOW, "void", previous))
    with pytest.raises(AuthRequired, match="postroom accounts login work") as caught:
        await source().token()
    assert "CANARY" not in caught.value.message
    assert "void" not in caught.value.message


async def test_an_account_nobody_logged_in_says_which_command_to_run(source: Make) -> None:
    with pytest.raises(AuthRequired, match=r"is not logged in.*postroom accounts login work"):
        await source().token()


async def test_a_client_that_is_not_accepted_is_told_apart(idp: Authorisation, logged_in: Login, source: Make) -> None:
    idp.client_id = "another"
    with pytest.raises(AuthRequired, match="invalid_client"):
        await source().refreshed("access-0")
    assert Keeping("work").read() == logged_in


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((503, {}), ProviderUnavailable),
        ((500, b"<html>"), ProviderUnavailable),
        ((429, {}), ProviderUnavailable),
        ((500, {"error": "internal_failure"}), ProviderUnavailable),
        ((429, {"error": "rate_limit_exceeded"}), ProviderUnavailable),
        ((400, {"error": "temporarily_unavailable"}), ProviderUnavailable),
        ((200, {"error": "server_error"}), ProviderUnavailable),
        ((200, b"<html>welcome"), ProviderError),
        ((200, {"token_type": "Bearer"}), ProviderError),
        ((200, {"access_token": "a b"}), ProviderError),
        ((200, {"access_token": 7}), ProviderError),
        ((200, {"access_token": "a", "token_type": "mac"}), ProviderError),
        ((400, {"error": {"code": "odd"}}), ProviderError),
    ],
)
async def test_a_service_out_of_order_costs_no_login(
    idp: Authorisation, logged_in: Login, source: Make, answer: tuple[int, object], kind: type[PostroomError]
) -> None:
    idp.answers = [answer]
    tokens = source()
    with pytest.raises(kind):
        await tokens.refreshed("access-0")
    assert Keeping("work").read() == logged_in
    assert await tokens.refreshed("access-0") != "access-0"


async def test_a_lifetime_that_cannot_be_read_counts_as_an_hour(
    idp: Authorisation, logged_in: Login, source: Make
) -> None:
    idp.lifetime = "soon"
    await source().refreshed("access-0")
    assert Keeping("work").read().expires_at == NOW + 3600


async def test_twenty_parallel_calls_refresh_once(idp: Authorisation, logged_in: Login, source: Make) -> None:
    tokens = source()
    got: list[str] = []

    async def ask() -> None:
        got.append(await tokens.refreshed("access-0"))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
    assert len(set(got)) == 1
    assert len(idp.refreshes) == 1


def no_space(*_: object) -> None:
    raise SettingsError("cannot be written: No space left on device")


async def test_a_disk_that_is_full_for_a_while_costs_no_login(
    idp: Authorisation, logged_in: Login, source: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = source()
    with monkeypatch.context() as disk:
        disk.setattr(Keeping, "write_again", no_space)
        first = await tokens.refreshed("access-0")
        second = await tokens.refreshed(first)
    assert (Keeping("work").read(), len({first, second, "access-0"})) == (logged_in, 3)
    third = await tokens.refreshed(second)
    assert Keeping("work").read().access_token == third
    assert Keeping("work").read().refresh_token in idp.refresh_tokens


async def test_a_login_by_hand_counts_more_than_one_that_could_not_be_stored(
    idp: Authorisation, logged_in: Login, source: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = source()
    with monkeypatch.context() as disk:
        disk.setattr(Keeping, "write_again", no_space)
        first = await tokens.refreshed("access-0")
    Keeping("work").write(Login("by-hand", NOW + 3600, idp.issue()))
    assert await tokens.refreshed(first) == "by-hand"


async def test_a_login_renewed_elsewhere_is_read_and_not_asked_for(
    idp: Authorisation, logged_in: Login, source: Make
) -> None:
    one, other = source(), source()
    new = await one.refreshed("access-0")
    assert await other.refreshed("access-0") == new
    assert len(idp.refreshes) == 1


async def test_a_login_stored_meanwhile_by_a_person_counts(idp: Authorisation, source: Make) -> None:
    tokens = source()
    with pytest.raises(AuthRequired):
        await tokens.token()
    Keeping("work").write(Login("by-hand", NOW + 3600, idp.issue()))
    assert await tokens.token() == "by-hand"


async def test_a_person_who_logs_in_waits_for_a_renewal_under_way_and_has_the_last_word(
    idp: Authorisation, logged_in: Login, source: Make, account: ImapAccount
) -> None:
    by_hand = Login("by-hand", NOW + 3600, idp.issue())
    keeping = Keeping(secrets_name(account))
    async with anyio.create_task_group() as group, keeping.alone():  # as a server that is renewing
        group.start_soon(keep_login, account, by_hand)
        await anyio.wait_all_tasks_blocked()
        keeping.write_again(Login("renewed", NOW + 3600, "renewed"))
        assert keeping.read().access_token == "renewed"
    assert keeping.read() == by_hand


async def test_the_client_secret_goes_along_where_there_is_one(
    idp: Authorisation, logged_in: Login, source: Make, home: Path
) -> None:
    idp.client_secret = "hush"
    secrets.keep("work", "client_secret", "hush", environ={"POSTROOM_HOME": str(home)})
    assert await source().refreshed("access-0") != "access-0"


async def test_nothing_of_the_login_lies_readable_on_the_disk(
    idp: Authorisation, logged_in: Login, source: Make, home: Path
) -> None:
    new = await source().refreshed("access-0")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert path.stat().st_mode & 0o077 == 0
        assert new.encode() not in path.read_bytes()
        assert logged_in.refresh_token.encode() not in path.read_bytes()


async def test_a_login_that_another_host_gave_is_shown_to_nobody_and_not_renewed_here(
    idp: Authorisation, source: Callable[..., OAuthTokens]
) -> None:
    """As when an account's cloud is changed: both tokens are for the one it was logged in with."""
    Keeping("work").write(Login("access-0", NOW + 3600, idp.issue(), issuer="login.microsoftonline.us"))
    for ask in (source().token, lambda: source().refreshed("access-0"), source(NOW + 7200).token):
        with pytest.raises(AuthRequired, match=r"login\.microsoftonline\.us.*accounts login work"):
            await ask()
    assert idp.forms == []


async def test_a_renewed_login_remembers_who_gave_it(logged_in: Login, source: Callable[..., OAuthTokens]) -> None:
    assert logged_in.issuer == ""
    await source(NOW + 7200).token()
    assert Keeping("work").read().issuer == "127.0.0.1"
