"""Twelve ways to hide text from a reader, through every tool that shows text: a model sees none of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flows.caller import Caller, text_of
from tests.flows.mails import letter

from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount

WAYS = {
    "display": '<p style="display:none">zebrafish</p>',
    "visibility": '<p style="visibility:hidden">zebrafish</p>',
    "opacity": '<p style="opacity:0">zebrafish</p>',
    "font-size": '<p style="font-size:0">zebrafish</p>',
    "max-height": '<div style="max-height:0;overflow:hidden">zebrafish</div>',
    "colour": '<p style="color:#ffffff;background:#fff">zebrafish</p>',
    "attribute": "<p hidden>zebrafish</p>",
    "class": "<style>.x{display:none}</style><p class=x>zebrafish</p>",
    "id": "<style>#x{font-size:0}</style><p id=x>zebrafish</p>",
    "position": '<p style="position:absolute;left:-9999px">zebrafish</p>',
    "comment": "<!-- zebrafish --><!--[if mso]><p>zebrafish</p><![endif]-->",
    "script": "<script>zebrafish</script><template>zebrafish</template>",
}
SHOWN = {  # by nearly all mail readers
    "mso-hide": '<p style="mso-hide:all">zebrafish</p>',  # Outlook for Windows alone hides it
    "noscript": "<noscript><p>zebrafish</p></noscript>",  # mail readers run no scripts
}


@pytest.fixture
async def read_all(caller: Caller, tmp_path: Path) -> Caller:
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=tmp_path / "alex.db")
    mailbox = LocalMailbox(account, ProviderContext(home=tmp_path, neighbours=(account,), read_only=False))
    await mailbox.connect()
    for name, html in (WAYS | SHOWN).items():
        mail = letter("Eve <eve@example.com>", f"Trick {name} end", "", hours_ago=1, message_id=f"trick-{name}")
        mail.set_content(f"<html><body><p>Good morning.</p>{html}</body></html>", subtype="html")
        await mailbox.add_messages([NewMail(raw=mail.as_bytes())])
    await mailbox.close()
    return caller


async def everything_shown(caller: Caller, name: str) -> str:
    query = f'subject:"Trick {name} end"'
    email_id = await caller.email_id(query)
    shown = [text_of(await caller("search_emails", query=query))]
    shown += [text_of(await caller("read_email", email_id=email_id, body_format=one)) for one in ("markdown", "text")]
    shown.append(text_of(await caller("get_thread", email_id=email_id)))
    return "\n".join(shown)


@pytest.mark.parametrize("name", WAYS)
async def test_no_tool_shows_what_a_reader_does_not_see(read_all: Caller, name: str) -> None:
    shown = await everything_shown(read_all, name)

    assert "Good morning" in shown
    assert "zebrafish" not in shown


@pytest.mark.parametrize("name", SHOWN)
async def test_what_nearly_all_readers_show_is_shown(read_all: Caller, name: str) -> None:
    assert "zebrafish" in await everything_shown(read_all, name)


async def test_doubtful_text_is_marked_on_every_page_of_a_message(caller: Caller, tmp_path: Path) -> None:
    words = " ".join(f"zebrafish{number}" for number in range(300))
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=tmp_path / "alex.db")
    mailbox = LocalMailbox(account, ProviderContext(home=tmp_path, neighbours=(account,), read_only=False))
    await mailbox.connect()
    mail = letter("Eve <eve@example.com>", "Pages", "", hours_ago=1, message_id="pages")
    mail.set_content(f"<p>Good morning.</p><details><summary>x</summary><p>{words}</p></details>", subtype="html")
    await mailbox.add_messages([NewMail(raw=mail.as_bytes())])
    await mailbox.close()
    email_id = await caller.email_id("subject:Pages")

    offset, pages = 0, []
    while True:
        shown = await caller.ok("read_email", email_id=email_id, offset=offset, max_chars=500)
        pages.append(shown["untrusted"]["body"])
        offset = shown["offset"] + len(pages[-1])
        if not shown["truncated"]:
            break

    assert len(pages) > 5
    assert "zebrafish299" in pages[-1]
    for page in pages[1:]:
        assert page.startswith("[hidden? ")
