"""The drafts dialect, line by line, on a real Dovecot. `docs/contracts/drafts.md` maps its contract to these tests."""

from __future__ import annotations

import subprocess
import sys
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.dialects.conftest import Mailbox, client_of, local_settings
from tests.flows.caller import text_of
from tests.peers.dovecot import running_dovecot

from postroom.doors.mcp.dialects import drafts
from postroom.doors.mcp.toolbox import bind

NOT_A_DRAFT = "You can only update drafts. The email you provided is not in the drafts folder."
NO_FOLDER = "Could not find Drafts folder. Available folders can be listed with list_folders."


def letter(subject="Offer", sender="Bob <bob@example.test>", to="", cc="", message_id="<m1@example.test>", **headers):
    mail = EmailMessage(policy=policy.SMTP)
    mail["From"], mail["To"], mail["Subject"], mail["Message-ID"] = sender, to, subject, message_id
    if cc:
        mail["Cc"] = cc
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail["Date"] = "Sun, 15 Nov 2026 10:00:00 +0000"
    mail.set_content("What do you think?")
    return mail.as_bytes()


@pytest.fixture
def mailbox(dovecot):
    return Mailbox(dovecot)


@pytest.fixture
async def call(mailbox, tmp_path):
    async with client_of(mailbox.settings(tmp_path, "drafts")) as caller:
        yield caller


def put(mailbox, raw, folder="INBOX"):
    with mailbox as client:
        return int(client.append(folder, raw).decode().partition("APPENDUID ")[2].partition("]")[0].split()[1])


def saved(mailbox, folder="Drafts"):
    """uid -> (flags, the mail) of everything in a folder."""
    with mailbox as client:
        client.select_folder(folder, readonly=True)
        found = client.fetch(client.search(), ["FLAGS", "BODY.PEEK[]"])
        return {
            uid: (set(item[b"FLAGS"]), message_from_bytes(item[b"BODY[]"], policy=policy.default))
            for uid, item in found.items()
        }


# --- tool metadata


PARAMETERS = {
    "create_draft": ({"to", "subject", "body"}, {"cc", "bcc", "in_reply_to"}),
    "draft_reply": ({"uid", "body"}, {"reply_all"}),
    "update_draft": ({"uid", "to", "subject", "body"}, {"cc", "bcc", "in_reply_to"}),
}


@pytest.mark.parametrize("tool", PARAMETERS)
def test_each_tool_has_exactly_the_agreed_parameters(tool):
    spec = next(spec for spec in drafts.drafting.specs if spec.name == tool)
    schema = bind(spec).parameters
    required, optional = PARAMETERS[tool]
    assert set(schema["required"]) == required
    assert set(schema["properties"]) == required | optional
    types = {name: shape.get("type") for name, shape in schema["properties"].items()}
    assert all(types[name] == "integer" for name in types if name in ("uid", "in_reply_to"))
    assert all(types[name] == "string" for name in types if name in ("to", "subject", "body", "cc", "bcc"))
    assert types.get("reply_all") in (None, "boolean")


async def test_the_tools_its_design_presumes_are_there_and_nothing_that_sends(call):
    names = {tool.name for tool in (await call.client.list_tools()).tools}
    assert names == {*PARAMETERS, "list_folders", "list_emails", "search_emails", "read_email"}


async def test_mail_is_found_listed_and_read_by_its_number(call, mailbox):
    uid = put(mailbox, letter())
    (row,) = (await call.ok("list_emails"))["results"]
    assert (row["uid"], row["subject"]) == (uid, "Offer")
    assert [one["uid"] for one in (await call.ok("search_emails", query="think"))["results"]] == [uid]
    assert "What do you think?" in (await call.ok("read_email", uid=uid))["untrusted"]["body"]
    assert text_of(await call("read_email", uid=uid + 1)) == f"Email with UID {uid + 1} not found."
    assert "Drafts" in [folder["name"] for folder in (await call.ok("list_folders"))["folders"]]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("list_emails", {}), ("search_emails", {"query": "think"}), ("read_email", {"uid": 1})]
)
async def test_no_number_is_shown_or_taken_without_its_folder(call, mailbox, tool, arguments):
    put(mailbox, letter("Mine"))
    put(mailbox, letter("Another's", sender="Eve <eve@example.test>"), "Archive")  # has the same number
    refused = text_of(await call(tool, **arguments, folder=""))
    assert refused.startswith(f"Invalid arguments for {tool}: folder:")


async def test_true_is_no_number(call, mailbox):
    await call.ok("create_draft", to="bob@example.test", subject="First", body="Hello.")
    given = {"uid": True, "to": "eve@example.test", "subject": "Other", "body": "x"}
    assert "uid: Input should be a number" in text_of(await call("update_draft", **given))
    assert [mail["Subject"] for _, mail in saved(mailbox).values()] == ["First"]


async def test_quoted_history_that_was_left_out_can_be_read(call, mailbox):
    asked, head = (
        "What do you think of our offer for the long ladder?",
        "To: me@example.test\r\nFrom: Bob <b@example.test>\r\n",
    )
    date = "Date: Sun, 15 Nov 2026 1{}:00:00 +0000\r\nMessage-ID: <m{}@example.test>\r\n"
    put(mailbox, f"{head}{date.format(0, 1)}\r\n{asked}\r\n".encode(), "Sent")
    answer = f"Fine.\r\n\r\nOn 15 Nov 2026 Bob <b@example.test> wrote:\r\n> {asked}\r\n"
    uid = put(mailbox, f"{head}{date.format(1, 2)}In-Reply-To: <m1@example.test>\r\n\r\n{answer}".encode())
    forged = answer.replace("long ladder", "short pole")
    other = put(mailbox, f"{head}{date.format(1, 3)}In-Reply-To: <m1@example.test>\r\n\r\n{forged}".encode())
    folded = await call.ok("read_email", uid=uid)
    assert folded["untrusted"]["body"] == "Fine."
    assert folded["quoted_folded"] > len(asked)
    assert asked in (await call.ok("read_email", uid=uid, include_quoted=True))["untrusted"]["body"]
    assert (await call.ok("read_email", uid=uid, offset=2))["untrusted"]["body"] == "ne."
    assert "short pole" in (await call.ok("read_email", uid=other))["untrusted"]["body"]


# --- create_draft


async def test_create_draft_appends_with_the_draft_flag_and_answers_with_its_number(call, mailbox):
    answer = await call.ok("create_draft", to="bob@example.test", subject="Hello", body="Hi Bob")
    assert set(answer) == {"uid", "subject", "to", "date"}
    ((uid, (flags, mail)),) = saved(mailbox).items()
    assert answer["uid"] == uid
    assert (answer["subject"], answer["to"]) == ("Hello", "bob@example.test")
    assert answer["date"].startswith(mail["Date"].datetime.isoformat()[:13])
    assert b"\\Draft" in flags
    assert (mail["To"], mail["Subject"], mail.get_content().strip()) == ("bob@example.test", "Hello", "Hi Bob")
    assert mailbox.address in mail["From"]
    assert mail["In-Reply-To"] is None


async def test_cc_and_bcc_take_one_or_several_addresses_and_are_kept_in_the_draft(call, mailbox):
    await call.ok(
        "create_draft",
        to="bob@example.test",
        subject="Hello",
        body="Hi",
        cc='"Mustermann, Eva" <eva@example.test>, carl@example.test',
        bcc="dora@example.test",
    )
    ((_, (_, mail)),) = saved(mailbox).items()
    assert [address.addr_spec for address in mail["Cc"].addresses] == ["eva@example.test", "carl@example.test"]
    assert mail["Bcc"] == "dora@example.test"


async def test_in_reply_to_sets_the_threading_headers_and_one_re(call, mailbox):
    uid = put(mailbox, letter(References="<m0@example.test>"))
    answer = await call.ok("create_draft", to="bob@example.test", subject="Offer", body="Yes", in_reply_to=uid)
    ((_, (_, mail)),) = saved(mailbox).items()
    assert mail["In-Reply-To"] == "<m1@example.test>"
    assert mail["References"].split() == ["<m0@example.test>", "<m1@example.test>"]
    assert mail["Subject"] == answer["subject"] == "Re: Offer"
    again = await call.ok("create_draft", to="bob@example.test", subject="Re: Offer", body="Yes", in_reply_to=uid)
    assert again["subject"] == "Re: Offer"


@pytest.mark.parametrize("number", [4711, 0, -1, 2**32, 10**30])
async def test_in_reply_to_a_mail_that_is_not_there_saves_nothing(call, mailbox, number):
    result = await call("create_draft", to="bob@example.test", subject="x", body="y", in_reply_to=number)
    assert result.is_error
    assert text_of(result) == f"Email with UID {number} not found."
    assert saved(mailbox) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": "not-an-address"},
        {"to": ""},
        {"subject": "a\r\nBcc: eve@evil.example"},
        {"cc": "alice@example.org]<bob@example.com>"},
        {"bbc": "x"},
        {"in_reply_to": "abc"},
        {"body": None},
    ],
)
async def test_bad_input_is_refused_and_saves_nothing(call, mailbox, wrong):
    arguments = {"to": "bob@example.test", "subject": "x", "body": "y", **wrong}
    assert (await call("create_draft", **arguments)).is_error
    assert saved(mailbox) == {}


# --- draft_reply


async def test_draft_reply_derives_recipient_subject_and_threading(call, mailbox):
    headers = {"Reply-To": "list@example.test"}
    uid = put(mailbox, letter(to=mailbox.address, cc="carl@example.test", **headers))
    answer = await call.ok("draft_reply", uid=uid, body="Gladly")
    ((draft_uid, (flags, mail)),) = saved(mailbox).items()
    assert answer["uid"] == draft_uid
    assert b"\\Draft" in flags
    assert mail["To"] == "Bob <bob@example.test>"
    assert mail["Cc"] is None
    assert mail["Subject"] == "Re: Offer"
    assert mail["In-Reply-To"] == "<m1@example.test>"
    assert mail["References"] == "<m1@example.test>"
    assert mail.get_content().strip() == "Gladly"


async def test_reply_all_copies_the_others_and_leaves_the_own_address_out(call, mailbox):
    to = f"{mailbox.address.upper()}, dora@example.test"
    uid = put(mailbox, letter(to=to, cc="carl@example.test, bob@example.test"))
    await call.ok("draft_reply", uid=uid, body="Gladly", reply_all=True)
    ((_, (_, mail)),) = saved(mailbox).items()
    assert mail["To"] == "Bob <bob@example.test>"
    assert [address.addr_spec for address in mail["Cc"].addresses] == ["dora@example.test", "carl@example.test"]


@pytest.mark.parametrize("name", ["Byron, Ada", "Byron; Ada", 'Byron, "Ada" A.', "bob@example.test, Ada"])
async def test_the_recipient_of_a_result_is_taken_by_the_next_call_as_it_is(call, mailbox, name):
    quoted = name.replace('"', r"\"")
    uid = put(mailbox, letter(sender=f'"{quoted}" <ada@example.test>'))
    reply = await call.ok("draft_reply", uid=uid, body="Gladly")
    await call.ok("update_draft", uid=reply["uid"], to=reply["to"], subject="Re: Offer", body="Most gladly")
    ((_, (_, mail)),) = saved(mailbox).items()
    assert [address.addr_spec for address in mail["To"].addresses] == ["ada@example.test"]


async def test_a_reply_keeps_the_names_the_original_came_with(call, mailbox):
    uid = put(
        mailbox, letter(sender='"Roe, Bob" <bob@example.test>', to=mailbox.address, cc="Jörg Ö. <joerg@example.test>")
    )
    await call.ok("draft_reply", uid=uid, body="Gladly", reply_all=True)
    ((_, (_, mail)),) = saved(mailbox).items()
    assert [(who.display_name, who.addr_spec) for who in mail["To"].addresses] == [("Roe, Bob", "bob@example.test")]
    assert [(who.display_name, who.addr_spec) for who in mail["Cc"].addresses] == [("Jörg Ö.", "joerg@example.test")]


async def test_a_subject_that_has_its_re_gets_no_second_one(call, mailbox):
    uid = put(mailbox, letter(subject="Re: Offer", to=mailbox.address))
    assert (await call.ok("draft_reply", uid=uid, body="ok"))["subject"] == "Re: Offer"


async def test_a_subject_that_nobody_could_write_is_answered_all_the_same(call, mailbox):
    endless = put(mailbox, letter(subject="word " * 100, to=mailbox.address))
    hidden = put(mailbox, b"From: ada@example.test\r\nSubject: =?utf-8?q?a=0Ab=E2=80=8Bc?=\r\n\r\nHi\r\n")
    assert len((await call.ok("draft_reply", uid=endless, body="ok"))["subject"]) <= 255
    assert (await call.ok("draft_reply", uid=hidden, body="ok"))["subject"] == "Re: a bc"


@pytest.mark.parametrize("number", [99, 2**32])
async def test_a_reply_to_a_mail_that_does_not_exist_says_so_word_for_word(call, mailbox, number):
    result = await call("draft_reply", uid=number, body="ok")
    assert result.is_error
    assert text_of(result) == f"Email with UID {number} not found."
    assert saved(mailbox) == {}


async def test_replying_does_not_mark_the_original_as_read(call, mailbox):
    uid = put(mailbox, letter(to=mailbox.address))
    await call.ok("draft_reply", uid=uid, body="ok")
    flags, _ = saved(mailbox, "INBOX")[uid]
    assert b"\\Seen" not in flags


# --- update_draft


async def test_update_draft_replaces_the_draft_and_answers_with_the_new_number(call, mailbox):
    first = await call.ok("create_draft", to="bob@example.test", subject="One", body="1", cc="carl@example.test")
    second = await call.ok("update_draft", uid=first["uid"], to="eva@example.test", subject="Two", body="2")
    ((uid, (flags, mail)),) = saved(mailbox).items()
    assert second["uid"] == uid != first["uid"]
    assert b"\\Draft" in flags
    assert (mail["To"], mail["Subject"], mail["Cc"]) == ("eva@example.test", "Two", None)
    assert mail.get_content().strip() == "2"


async def test_other_drafts_marked_deleted_survive_an_update(call, mailbox):
    first = await call.ok("create_draft", to="bob@example.test", subject="One", body="1")
    other = put(mailbox, letter(subject="Other"), "Drafts")
    with mailbox as client:
        client.select_folder("Drafts")
        client.add_flags([other], [b"\\Deleted"])
    await call.ok("update_draft", uid=first["uid"], to="bob@example.test", subject="Two", body="2")
    assert other in saved(mailbox)


async def test_update_draft_refuses_what_is_not_in_the_drafts_folder(call, mailbox):
    for _ in range(3):
        uid = put(mailbox, letter())
    before = saved(mailbox, "INBOX")
    result = await call("update_draft", uid=uid, to="bob@example.test", subject="x", body="y")
    assert result.is_error
    assert text_of(result) == NOT_A_DRAFT
    assert saved(mailbox) == {}
    assert saved(mailbox, "INBOX").keys() == before.keys()


async def test_a_draft_updated_as_a_reply_keeps_its_thread(call, mailbox):
    uid = put(mailbox, letter(to=mailbox.address))
    reply = await call.ok("draft_reply", uid=uid, body="ok")
    await call.ok("update_draft", uid=reply["uid"], to="bob@example.test", subject="Re: Offer", body="better")
    ((_, (_, mail)),) = saved(mailbox).items()
    assert mail["In-Reply-To"] == "<m1@example.test>"


# --- finding the drafts folder


FOLDERS = "namespace inbox {{\n  mailbox Drafts {{\n    special_use =\n    auto = {auto}\n  }}\n{more}}}\n"
ENTWUERFE = "  mailbox Entwurf {\n    special_use = \\Drafts\n    auto = create\n  }\n"


async def drafted(config, home):
    with running_dovecot(settings=config) as server:
        mailbox = Mailbox(server)
        async with client_of(mailbox.settings(home, "drafts")) as call:
            result = await call("create_draft", to="bob@example.test", subject="x", body="y")
            folders = {"Entwurf", "Drafts"} & set(_folders(mailbox))
            return result, {name for name in folders if saved(mailbox, name)}


def _folders(mailbox):
    with mailbox as client:
        return [name for _, _, name in client.list_folders()]


async def test_the_folder_with_the_special_use_attribute_is_taken_whatever_its_name(tmp_path):
    result, used = await drafted(FOLDERS.format(auto="create", more=ENTWUERFE), tmp_path)
    assert not result.is_error
    assert used == {"Entwurf"}


async def test_without_the_attribute_the_name_drafts_is_taken(tmp_path):
    result, used = await drafted(FOLDERS.format(auto="create", more=""), tmp_path)
    assert not result.is_error
    assert used == {"Drafts"}


async def test_without_any_drafts_folder_the_error_says_so_word_for_word(tmp_path):
    result, used = await drafted(FOLDERS.format(auto="no", more=""), tmp_path)
    assert result.is_error
    assert text_of(result) == NO_FOLDER
    assert used == set()


# --- structure


async def test_no_transport_is_ever_built_in_this_dialect(tmp_path):
    from postroom.model.errors import PermissionDenied
    from postroom.wiring import open_gateway

    async with open_gateway(local_settings(tmp_path, "drafts", toolsets=["read", "drafts", "send"])) as gateway:
        account = await gateway.accounts.open()
        with pytest.raises(PermissionDenied):
            _ = account.transport


def test_not_even_the_code_of_a_transport_is_loaded(tmp_path):
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.dialects.conftest import client_of, local_settings\n"
        "async def main():\n"
        "    async with client_of(local_settings(Path(sys.argv[1]), 'drafts')) as call:\n"
        "        await call.ok('create_draft', to='bob@demo.example', subject='x', body='y')\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name in ('aiosmtplib', 'postroom.service.sending.dispatch',"
        " 'postroom.service.sending.gate', 'postroom.providers.imap.smtp.transport')])\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


async def test_the_dialect_works_on_the_embedded_mailbox_too(tmp_path):
    async with client_of(local_settings(tmp_path, "drafts")) as call:
        first = await call.ok("create_draft", to="bob@demo.example", subject="One", body="1")
        second = await call.ok("update_draft", uid=first["uid"], to="bob@demo.example", subject="Two", body="2")
        (row,) = (await call.ok("list_emails", folder="Drafts"))["results"]
        assert (row["uid"], row["subject"]) == (second["uid"], "Two")
        result = await call("update_draft", uid=9999, to="bob@demo.example", subject="x", body="y")
        assert text_of(result) == NOT_A_DRAFT


async def test_the_dialect_works_where_the_provider_numbers_nothing(tmp_path, monkeypatch):
    from dataclasses import replace

    from postroom.providers.local import provider

    monkeypatch.setattr(provider, "CAPABILITIES", replace(provider.CAPABILITIES, has_uids=False))
    for _ in range(2):  # numbers outlast a restart
        async with client_of(local_settings(tmp_path, "drafts")) as call:
            first = await call.ok("create_draft", to="bob@demo.example", subject="One", body="1")
            second = await call.ok("update_draft", uid=first["uid"], to="bob@demo.example", subject="Two", body="2")
            rows = (await call.ok("list_emails", folder="Drafts"))["results"]
            assert (rows[0]["uid"], rows[0]["subject"]) == (second["uid"], "Two")
            assert text_of(await call("draft_reply", uid=first["uid"], body="ok")) == (
                f"Email with UID {first['uid']} not found."
            )
            result = await call("update_draft", uid=9999, to="bob@demo.example", subject="x", body="y")
            assert text_of(result) == NOT_A_DRAFT
    assert len({row["uid"] for row in rows}) == len(rows) == 2


async def test_the_words_of_a_mail_stand_there_without_marks(call, mailbox):
    uid = put(mailbox, letter())
    for result in (await call("read_email", uid=uid), await call("list_emails")):
        assert "untrusted" not in text_of(result)
        assert "Offer" in text_of(result)
