"""The commands on a real gateway: the sample mailbox in a temporary home."""

from __future__ import annotations

import json
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from postroom.doors.cli import main


def run(*argv: str) -> int:
    def no_server(*args: object, **kwargs: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run(argv, serve=no_server)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("POSTROOM_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return home


@pytest.fixture
def empty_account(tmp_path: Path) -> str:
    path = tmp_path / "postroom.toml"
    path.write_text('[[accounts]]\nname = "box"\nprovider = "local"\naddress = "box@example.com"\n')
    return str(path)


def test_accounts_lists_both_sample_accounts_and_checks_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "--check") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "PROVIDER", "ADDRESS", "STATUS"],
        ["alex", "local", "alex@demo.example", "ok"],
        ["sam", "local", "sam@demo.example", "ok"],
    ]


def test_an_account_that_cannot_be_opened_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "postroom.toml"
    (tmp_path / "not-a-folder").write_text("")
    path.write_text(
        '[[accounts]]\nname = "box"\nprovider = "local"\naddress = "box@example.com"\n'
        f'path = "{tmp_path / "not-a-folder" / "mail.db"}"\n'
    )
    assert run("accounts", "--check", "--config", str(path)) == 1
    assert "ok" not in capsys.readouterr().out.split()


def test_search_prints_a_line_per_mail_and_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "in:inbox", "--limit", "3") == 0
    header, *mails, total = capsys.readouterr().out.splitlines()
    assert header.split() == ["ID", "DATE", "(+00:00)", "FROM", "SUBJECT"]
    assert len(mails) == 3
    assert total.startswith("3 of ")


def test_a_search_of_every_account_names_the_account_of_each_mail(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "in:inbox", "--account", "all", "--limit", "100") == 0
    header, *mails, total = capsys.readouterr().out.splitlines()
    assert header.split() == ["ID", "DATE", "(+00:00)", "ACCOUNT", "FROM", "SUBJECT"]
    place = header.index("ACCOUNT")
    assert {mail[place:].split()[0] for mail in mails} == {"alex", "sam"}
    assert total.startswith("100 of ")


def test_the_marks_of_a_mail_are_those_of_the_tools_and_the_help_explains_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from postroom.doors.mcp.dialects.postroom.text import LEGEND

    with pytest.raises(SystemExit):
        run("search", "--help")
    assert LEGEND.removeprefix("Marks: ") in " ".join(capsys.readouterr().out.split())
    assert run("search", "is:unread is:starred has:attachment", "--limit", "1") == 0
    assert " *!@ " in capsys.readouterr().out.splitlines()[1]


def test_the_words_of_a_search_need_no_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "from:tanaka in:anywhere") == 0
    quoted = capsys.readouterr().out
    assert run("search", "from:tanaka", "in:anywhere") == 0
    assert capsys.readouterr().out == quoted
    assert run("search", "--limit", "5", "--", "-from:tanaka", "in:inbox") == 0
    shown = capsys.readouterr().out
    assert "5 of " in shown
    assert "tanaka" not in shown


def test_a_search_says_how_to_see_more_and_when_there_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "in:inbox", "--limit", "1") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("; --limit shows up to 100")
    assert run("search", "zzzzqq") == 0
    assert capsys.readouterr().out == "no messages found; Trash and Junk are searched only with in:anywhere\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [("approvals", "0 waiting"), ("outbox", "the outbox is empty"), ("audit", "0 entries, the chain is intact")],
)
@pytest.mark.parametrize("config_first", [True, False])
def test_a_command_of_several_verbs_shows_what_there_is_when_none_is_named(
    command: str, said: str, config_first: bool, empty_account: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = "verify" if command == "audit" else "list"
    assert run(command, "--config", empty_account) == 0
    assert capsys.readouterr().out == f"{said}\n"
    asked = (command, "--config", empty_account, verb) if config_first else (command, verb, "--config", empty_account)
    assert run(*asked) == 0
    assert capsys.readouterr().out == f"{said}\n"


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "check the installation and every account" in err


def test_search_as_json_has_the_shape_of_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "in:inbox", "--limit", "2", "--json", "--account", "sam") == 0
    page = json.loads(capsys.readouterr().out)
    assert {row["account"] for row in page["results"]} == {"sam"}
    assert {"email_id", "from", "subject", "date", "unread"} <= set(page["results"][0])
    assert (page["limit"], page["offset"], page["has_more"]) == (2, 0, True)


@pytest.mark.parametrize(
    "argv", [("search", 'from:"'), ("search", "x", "--account", "nobody"), ("search", "x", "--limit", "0")]
)
def test_a_search_that_cannot_be_understood_says_why(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("postroom: ")


def test_import_adds_each_mail_once(tmp_path: Path, empty_account: str, capsys: pytest.CaptureFixture[str]) -> None:
    box = mailbox.mbox(tmp_path / "old.mbox")
    for number in range(3):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "a@example.com", "box@example.com", f"Tulips {number}"
        mail["Message-ID"], mail["Date"] = f"<{number}@example.com>", "Mon, 02 Nov 2026 10:00:00 +0000"
        mail.set_content("Plant them in autumn.")
        box.add(mail)
    box.close()
    for expected in ("added 3 to old, already there 0, failed 0", "added 0, already there 3, failed 0"):
        assert run("import", str(tmp_path / "old.mbox"), "--config", empty_account) == 0
        out, err = capsys.readouterr()
        assert out.strip() == expected
        assert "\r" not in err  # no bar where there is no terminal
    run("search", "tulips", "--config", empty_account)
    assert "3 of 3" in capsys.readouterr().out


def test_an_import_names_what_it_could_not_read(
    tmp_path: Path, empty_account: str, capsys: pytest.CaptureFixture[str]
) -> None:
    separator = b"From a@example.com Mon Nov  2 10:00:00 2026\n"
    (tmp_path / "old\x1b.mbox").write_bytes(separator + b"Subject: One\n\nHello.\n\n" + separator * 30)
    assert run("import", str(tmp_path / "old\x1b.mbox"), "--config", empty_account) == 1
    out, err = capsys.readouterr()
    assert out.startswith("added 1 to old")
    assert "failed: message 2 of old⟨U+001B⟩.mbox is empty\n" in err
    assert err.endswith("failed: 10 more\n")


def test_importing_what_is_not_there_changes_nothing(
    tmp_path: Path, empty_account: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", str(tmp_path / "absent"), "--config", empty_account) != 0
    assert capsys.readouterr().err.startswith("postroom: ")


def test_an_archive_goes_to_the_first_account_that_takes_one(
    tmp_path: Path, empty_account: str, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = '[[accounts]]\nname = "work"\nprovider = "imap"\naddress = "a@example.com"\nhost = "127.0.0.1"\n'
    (tmp_path / "both.toml").write_text(f"{remote}\n{Path(empty_account).read_text()}")
    (tmp_path / "work.toml").write_text(remote)
    (tmp_path / "old.mbox").write_text(
        "From a@example.com Sun Nov 15 10:00:00 2026\nFrom: a@example.com\nSubject: Tulips\n\nIn autumn.\n"
    )
    assert run("import", str(tmp_path / "old.mbox"), "--config", str(tmp_path / "both.toml")) == 0
    assert "added 1 to old" in capsys.readouterr().out
    assert run("import", str(tmp_path / "old.mbox"), "--config", str(tmp_path / "work.toml")) == 2
    assert "--provider local" in capsys.readouterr().err


def test_doctor_finds_the_sample_mailbox_healthy_and_leaves_no_draft(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok") for line in lines)
    assert [line.split(":")[1].strip() for line in lines if "alex" in line][:4] == [
        "connect",
        "folders",
        "read",
        "draft",
    ]
    run("search", "in:drafts", "--json", "--limit", "100")
    drafts = json.loads(capsys.readouterr().out)["results"]
    assert "Postroom doctor" not in {draft["subject"] for draft in drafts}


def test_doctor_writes_nothing_into_a_read_only_account(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTROOM_SERVER__READ_ONLY", "true")
    assert run("doctor") == 0
    assert "alex: draft: not tried: read-only" in capsys.readouterr().out


def test_doctor_says_when_the_home_folder_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "file" / "home"))
    assert run("doctor") == 1
    assert "FAIL  home: " in capsys.readouterr().out


def test_templates_are_listed_shown_and_rendered(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = own_home / "templates"
    folder.mkdir(parents=True)
    (folder / "hello.md").write_text("---\nsubject: Hello\nvariables: [name]\n---\nDear *{{ name }}*\n")
    (folder / "broken.md").write_text("---\n")

    assert run("templates") == 0
    listed = capsys.readouterr()
    assert [line.split() for line in listed.out.splitlines()[:2]] == [
        ["NAME", "FORMAT", "SUBJECT", "DESCRIPTION"],
        ["hello", "markdown", "Hello"],
    ]
    assert "broken.md: Line 1" in listed.err

    assert run("templates", "show", "hello") == 0
    assert "name: required" in capsys.readouterr().out.splitlines()
    assert run("templates", "render", "hello", "name=Ann", "--html") == 0
    assert capsys.readouterr().out == "Subject: Hello\n\n<p>Dear <em>Ann</em></p>\n"


def test_a_template_without_its_values_is_a_mistake_that_names_them(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_home / "templates").mkdir(parents=True)
    (own_home / "templates" / "hello.txt").write_text("{{ name }}")

    assert run("templates", "render", "hello") == 2
    assert "needs name" in capsys.readouterr().err
    assert run("templates", "render", "hello", "name") == 2
    assert "name=value" in capsys.readouterr().err


def test_a_plan_of_a_rule_says_how_to_run_it_and_a_run_how_to_reverse_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(
        "version: 1\nname: news\nconditions:\n- {field: from, operator: matches, value: '*@circuitweekly.example'}\n"
        "actions:\n- {type: star}\n"
    )

    def next_command(*argv: str) -> tuple[str, ...]:
        assert run(*argv) == 0
        return tuple(capsys.readouterr().out.splitlines()[-1].partition("postroom ")[2].split())

    to_run = next_command("rules", "plan", str(rule))
    assert to_run[:2] == ("rules", "run")
    to_reverse = next_command(*to_run, "--yes")
    assert to_reverse[:2] == ("rules", "undo")
    assert run(*to_reverse) == 0


def test_tokens_says_after_the_last_revocation_that_requests_still_need_one(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("tokens") == 0
    assert "still needs" not in capsys.readouterr().out
    assert (run("tokens", "create", "laptop"), run("tokens", "revoke", "laptop"), run("tokens")) == (0, 0, 0)
    assert f"Every request still needs one; to serve without tokens again, delete {own_home}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("account", "said"),
    [
        ("alex", "The account 'alex' is on this machine and needs no mirror."),
        ("bob", "There is no account 'bob'. Use one of: alex, sam."),
    ],
)
def test_sync_of_an_account_that_can_have_no_mirror_says_why(
    account: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("sync", "--account", account) == 2
    assert said in capsys.readouterr().err
