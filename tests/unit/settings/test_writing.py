"""Adding an account to the settings file, or taking one away, leaves everything else in it as it was."""

from __future__ import annotations

import threading
import tomllib
from pathlib import Path

import pytest

from postroom.settings import SettingsError, load
from postroom.settings.writing import append_account, grown, remove_account, rendered, target

TABLE = {"name": "work", "provider": "imap", "address": "alice@example.com", "host": "imap.example.com", "port": 993}
OLD = """# mine
[server]\t
read_only=true

[[accounts]]
name = "box"
provider = "local"
address = "b@example.com" # ü
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        OLD,
        OLD.rstrip("\n"),
        OLD + "\n\n",
        OLD.replace("\n", "\r\n"),
        "# only a remark",
        "[accounts_of_others]\nx = 1\n",
        "[safety]\nvault = '''\n[[accounts]]\n'''\n",
    ],
)
def test_what_was_there_stays_byte_for_byte(tmp_path: Path, before: str) -> None:
    path = tmp_path / "postroom.toml"
    path.write_bytes(before.encode())
    append_account(path, TABLE)
    after = path.read_bytes()
    assert after.startswith(before.encode())
    assert tomllib.loads(after.decode())["accounts"][-1] == TABLE
    assert (b"\r\n" in before.encode()) == (b"\r\n" in after[len(before.encode()) :])


def test_the_result_is_read_as_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    path.write_text(OLD, encoding="utf-8")
    append_account(path, TABLE)
    settings = load(path, environ={})
    assert [account.name for account in settings.accounts] == ["box", "work"]
    assert settings.server.read_only


@pytest.mark.parametrize("text", ['say "hi"', "back\\slash", "tab\tand\nnew line", "日本 🙂", "\u2028"])
def test_any_text_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "postroom.toml"
    append_account(path, {**TABLE, "display_name": text})
    assert tomllib.loads(path.read_text(encoding="utf-8"))["accounts"][0]["display_name"] == text


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "config" / "postroom" / "postroom.toml"
    append_account(path, TABLE)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert path.read_text() == rendered(TABLE)


def test_an_old_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mail.toml"
    real.parent.mkdir()
    real.write_text(OLD, encoding="utf-8")
    real.chmod(0o640)
    link = tmp_path / "postroom.toml"
    link.symlink_to(real)
    append_account(link, TABLE)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "imap.example.com" in real.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "before",
    [
        b'accounts = [{name = "box", provider = "local", address = "b@example.com"}]\n',
        b'[mail_api]\nbase_url = "https://mail.example.com"\n',
        b"[server\n",
        b"\xff\xfe",
    ],
)
def test_a_file_that_cannot_take_it_stays_untouched_and_the_lines_are_shown(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "postroom.toml"
    path.write_bytes(before)
    with pytest.raises(SettingsError, match="add this yourself") as caught:
        append_account(path, TABLE)
    assert rendered(TABLE) in caught.value.message
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_lines_for_a_file_with_its_accounts_in_one_list_come_with_what_makes_them_valid(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    path.write_text('accounts = [{name = "box", provider = "local", address = "b@example.com"}]\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"write each account as \[\[accounts\]\]"):
        append_account(path, TABLE)


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        append_account(tmp_path / "file" / "postroom.toml", TABLE)


def test_accounts_added_at_once_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    start = threading.Barrier(12)

    def add(number: int) -> None:
        start.wait()
        append_account(path, {**TABLE, "name": f"work{number}"})

    threads = [threading.Thread(target=add, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {account.name for account in load(path, environ={}).accounts} == {f"work{number}" for number in range(12)}


def test_the_file_is_the_one_that_load_would_read(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert target(None, environ) == tmp_path / "postroom" / "postroom.toml"
    assert target(None, {**environ, "POSTROOM_CONFIG": str(tmp_path / "x.toml")}) == tmp_path / "x.toml"
    assert target(tmp_path / "y.toml", {"POSTROOM_CONFIG": "x.toml"}) == tmp_path / "y.toml"


def test_settings_can_be_seen_as_they_would_be(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    assert grown(path, None, {}).accounts == ()
    assert [account.name for account in grown(path, TABLE, {}).accounts] == ["work"]
    with pytest.raises(SettingsError, match=r"accounts\[0\]\.address"):
        grown(path, {**TABLE, "address": "alice"}, {})
    assert not path.exists()


@pytest.mark.parametrize("before", ["", OLD, OLD.rstrip("\n"), OLD.replace("\n", "\r\n"), "# only a remark\n"])
def test_what_was_added_can_be_taken_away_again(tmp_path: Path, before: str) -> None:
    path = tmp_path / "postroom.toml"
    path.write_bytes(before.encode())
    append_account(path, TABLE)
    remove_account(path, "work")
    assert path.read_bytes().rstrip() == before.encode().rstrip()


def test_only_the_one_of_that_name_goes_and_remarks_stay_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    path.write_text(OLD + "\n# the second\n" + rendered(TABLE) + "\n[logging]\nlevel = 'debug'\n", encoding="utf-8")
    remove_account(path, "box")
    after = path.read_text(encoding="utf-8")
    assert (
        after
        == "# mine\n[server]\t\nread_only=true\n\n# the second\n" + rendered(TABLE) + "\n[logging]\nlevel = 'debug'\n"
    )
    remove_account(path, "work")
    assert "[logging]" in path.read_text(encoding="utf-8")
    assert "accounts" not in tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "part",
    [
        '[[accounts.identities]]\naddress = "a@example.org"\n\n[[accounts.identities]]\naddress = "b@example.org"\n',
        '[accounts.oauth]\nservice = "google"\nclient_id = "x"\n',
    ],
    ids=["identities", "oauth"],
)
def test_tables_of_its_own_go_with_an_account_and_those_of_others_stay(tmp_path: Path, part: str) -> None:
    path = tmp_path / "postroom.toml"
    kept = OLD + "\n" + part + "\n# the second\n"
    path.write_text(kept + rendered(TABLE) + "\n" + part, encoding="utf-8")
    remove_account(path, "work")
    assert path.read_text(encoding="utf-8").rstrip() == kept.rstrip()
    remove_account(path, "box")
    assert "accounts" not in tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "before",
    [
        'accounts = [{name = "work", provider = "local", address = "b@example.com"}]\n',
        "[[accounts]]\nname = \"work\"\ndisplay_name = '''\n[[accounts]]\n'''\n",
        '[mail_api]\nbase_url = "https://mail.example.com"\n',
        OLD,
    ],
    ids=["in one line", "a header inside a text", "another form", "not in it"],
)
def test_what_cannot_be_taken_away_safely_stays(tmp_path: Path, before: str) -> None:
    path = tmp_path / "postroom.toml"
    path.write_text(before, encoding="utf-8")
    with pytest.raises(SettingsError, match="yourself"):
        remove_account(path, "work")
    assert path.read_text(encoding="utf-8") == before


def test_of_two_that_add_an_account_of_one_name_at_once_the_second_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    append_account(path, TABLE)
    before = path.read_bytes()
    with pytest.raises(SettingsError, match=r"there is an account called WORK by now\. Nothing was written"):
        append_account(path, {**TABLE, "name": "WORK", "address": "bob@example.com"})
    assert path.read_bytes() == before
