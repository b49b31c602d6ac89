"""What may be attached, and where downloads may land: path tricks change nothing and reach nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroom.model.draft import File
from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied
from postroom.service import attachment_files
from postroom.service.attachment_files import Downloads, load_files, safe_filename, save


@pytest.fixture
def allowed(tmp_path):
    folder = tmp_path / "outbox"
    (folder / "sub").mkdir(parents=True)
    (folder / "report.pdf").write_bytes(b"%PDF")
    (folder / "sub" / "日本.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def test_files_are_found_by_name_and_by_path_within_the_allowed_folder(allowed):
    loaded = load_files(["report.pdf", str(allowed / "sub" / "日本.txt")], [allowed])
    assert [(file.filename, file.mime_type) for file in loaded] == [
        ("report.pdf", "application/pdf"),
        ("日本.txt", "text/plain"),
    ]
    assert loaded[0].content == b"%PDF"


@pytest.mark.parametrize("path", ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "{tmp}/secret.txt", "~/x"])
def test_a_path_that_leads_outside_is_refused(allowed, tmp_path, path):
    with pytest.raises(PermissionDenied):
        load_files([path.format(tmp=tmp_path)], [allowed])


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "x" * 5000, "sub/" + "x" * 300])
def test_a_path_that_can_be_no_file_is_not_found(allowed, path):
    with pytest.raises(NotFound):
        load_files([path], [allowed])


def test_no_more_is_read_than_may_be_attached(allowed, monkeypatch):
    read = []
    monkeypatch.setattr(attachment_files, "_load", lambda *_: read.append(1) or File("a", "text/plain", b"12345678"))
    with pytest.raises(InvalidRequest, match="together"):
        load_files(["report.pdf"] * 100, [allowed], max_bytes=20)
    assert len(read) == 3


def test_a_hundred_files_are_enough(allowed):
    assert len(load_files(["report.pdf"] * 100, [allowed])) == 100
    with pytest.raises(InvalidRequest, match="at most 100"):
        load_files(["report.pdf"] * 101, [allowed])


def test_links_that_lead_outside_are_refused_and_links_within_are_followed(allowed, tmp_path):
    (allowed / "out").symlink_to(tmp_path / "secret.txt")
    (allowed / "dir").symlink_to(tmp_path)
    (allowed / "in").symlink_to(allowed / "report.pdf")
    for path in ("out", "dir/secret.txt"):
        with pytest.raises((PermissionDenied, NotFound)):
            load_files([path], [allowed])
    assert load_files(["in"], [allowed])[0].content == b"%PDF"


def test_an_allowed_folder_may_itself_be_reached_through_links(allowed, tmp_path):
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    linked = tmp_path / "elsewhere" / "outbox"
    assert load_files(["report.pdf"], [linked])[0].content == b"%PDF"
    assert load_files([str(linked / "report.pdf")], [linked])[0].content == b"%PDF"
    assert load_files([str(allowed / "sub" / "日本.txt")], [linked])[0].content == b"x"


def test_a_folder_that_may_be_passed_but_not_listed_is_passed(allowed):
    (allowed / "sub").chmod(0o311)
    assert load_files(["sub/日本.txt"], [allowed])[0].content == b"x"


def test_pipes_folders_and_missing_files_are_refused(allowed):
    os.mkfifo(allowed / "pipe")
    with pytest.raises(PermissionDenied):
        load_files(["pipe"], [allowed])
    with pytest.raises(PermissionDenied):
        load_files(["sub"], [allowed])
    with pytest.raises(NotFound):
        load_files(["missing.txt"], [allowed])
    with pytest.raises(InvalidRequest):
        load_files(["a\0b"], [allowed])


def test_sizes_count_alone_and_together(allowed):
    (allowed / "a").write_bytes(b"x" * 600)
    (allowed / "b").write_bytes(b"x" * 600)
    with pytest.raises(InvalidRequest):
        load_files(["a"], [allowed], max_bytes=500)
    with pytest.raises(InvalidRequest):
        load_files(["a", "b"], [allowed], max_bytes=1000)


def test_nothing_may_be_attached_when_no_folder_is_allowed(allowed):
    with pytest.raises(PermissionDenied, match="attachment_dirs"):
        load_files([str(allowed / "report.pdf")], [])


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/abs/olute", "olute"),
        ("..", "attachment.bin"),
        ("", "attachment.bin"),
        (".bashrc", "bashrc"),
        ("nul", "_nul"),
        ("COM1.txt", "_COM1.txt"),
        ("a\0b\nc.txt", "ab c.txt"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ('a:b*c?"d<e>|f.txt', "a_b_c_d_e_f.txt"),
        ("日本語.txt", "日本語.txt"),
    ],
)
def test_attachment_names_become_one_harmless_path_component(name, safe):
    assert safe_filename(name) == safe


def test_long_names_keep_their_ending_and_fit_a_file_system():
    name = safe_filename("ü" * 500 + ".pdf")
    assert name.endswith(".pdf")
    assert len(name.encode()) <= 150


def test_saving_never_overwrites_and_never_follows_a_link(tmp_path):
    target = tmp_path / "target"
    (tmp_path / "a.txt").symlink_to(target)
    first = save(tmp_path, "a.txt", b"1")
    second = save(tmp_path, "a.txt", b"2")
    assert (first.name, second.name) == ("a (2).txt", "a (3).txt")
    assert not target.exists()
    assert first.read_bytes() == b"1"


def test_a_folder_that_cannot_be_made_is_said_clearly(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(PermissionDenied, match="download_dir"):
        save(Path(tmp_path / "file" / "below"), "a.txt", b"1")


def encoded(content: str = "JVBERg==", name: str = "report.pdf", mime_type: str = "") -> attachment_files.EncodedFile:
    return attachment_files.EncodedFile(name, content, mime_type)


def test_a_file_within_a_call_is_taken_with_its_name_and_type():
    files = attachment_files.decode_files([encoded(), encoded(name="../../x/notes", mime_type="Text/Plain")])
    assert files == (File("report.pdf", "application/pdf", b"%PDF"), File("notes", "text/plain", b"%PDF"))


@pytest.mark.parametrize(
    "wrong", ["JVBERg", "JVBE Rg==", "JVBE\nRg==", "JVBERg==x", "_-8=", "J", "JVBERg==" + "\0", "é==="]
)
def test_what_is_not_strict_base64_is_refused_by_name(wrong):
    with pytest.raises(InvalidRequest, match=r"report\.pdf is not valid base64") as refused:
        attachment_files.decode_files([encoded(wrong)])
    assert refused.value.reason == "invalid_base64"


@pytest.mark.parametrize("kind", ["text", "text/plain; charset=x", "multipart/mixed", "a/b\r\nBcc: eve@evil.example"])
def test_a_type_that_could_say_more_is_refused(kind):
    with pytest.raises(InvalidRequest, match="must look like application/pdf"):
        attachment_files.decode_files([encoded(mime_type=kind)])


def test_files_within_a_call_count_towards_the_same_limits():
    with pytest.raises(InvalidRequest, match="together are larger") as refused:
        attachment_files.decode_files([encoded("AAAA" * 1000)] * 2, max_bytes=5000)
    assert refused.value.reason == "attachment_too_large"
    with pytest.raises(InvalidRequest, match="at most"):
        attachment_files.decode_files([encoded()] * 101)


def test_what_other_clients_downloaded_cannot_be_attached_and_is_as_if_it_were_not_there(tmp_path):
    everybody, own = tmp_path / "downloads", tmp_path / "downloads" / "mine"
    for folder in (own, everybody / "theirs", everybody / "for-all"):
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(folder.name)
    (everybody / "file.txt").write_text("the operator's")
    (own / "link.txt").symlink_to(everybody / "theirs" / "file.txt")
    downloads, linked = Downloads(everybody, own), tmp_path / "linked"
    linked.symlink_to(everybody)

    for allowed in ([everybody], [tmp_path], [linked], [own, everybody]):
        assert load_files([str(own / "file.txt")], allowed, downloads=downloads)[0].content == b"mine"
        for path in ("theirs/file.txt", "file.txt", "for-all/file.txt", "mine/link.txt", "theirs/none.txt"):
            with pytest.raises(NotFound, match="There is no file"):
                load_files([str(everybody / path)], allowed, downloads=downloads)
    shared = [everybody, everybody / "for-all"]
    assert load_files([str(everybody / "for-all" / "file.txt")], shared, downloads=downloads)[0].content == b"for-all"
    assert load_files([str(everybody / "theirs" / "file.txt")], [everybody])[0].content == b"theirs"
