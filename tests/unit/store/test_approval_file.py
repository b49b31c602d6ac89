from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.errors import InvalidRequest
from postroom.store.vault.approval_file import MAX_FILE_BYTES, ApprovalFile, parse, refuse_endless, render

PENDING = ApprovalFile(
    type="email_send", status="pending", action_type="send_email", approval_id="a0123456789", to=("bob@example.com",),
    subject="Hi", created="2026-11-15T10:00:00+00:00", content_sha256="ab" * 32, body="# Approve?\n\nwords\n",
)  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@given(subject=TEXT, thread=TEXT, to=st.lists(TEXT, max_size=3), body=TEXT)
def test_what_is_written_is_read_back_whatever_the_words(subject, thread, to, body):
    body = body.replace("\r", "")
    file = ApprovalFile("email_reply", "pending", to=tuple(to), subject=subject, thread_id=thread, body=body)
    assert parse(render(file)) == file


def test_a_person_may_change_status_and_time_and_add_keys_of_their_editor():
    edited = render(PENDING).replace(b"status: pending", b"status: approved\napproved_at: 2026-11-15\ntags: [mail, x]")
    file = parse(edited)
    assert file.status == "approved"
    assert file.fingerprint == PENDING.fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"bob@", b"eve@"), (b'"Hi"', b'"Ho"'), (b"words", b"word"), (b"abab", b"abac"), (b"email_send", b"email_reply")],
)
def test_any_other_change_shows(old, new):
    assert parse(render(PENDING).replace(old, new)).fingerprint != PENDING.fingerprint


@pytest.mark.parametrize(
    "field",
    ["type", "to", "thread_id", "subject", "created", "expires", "content_sha256", "action_type", "body"],
)
def test_the_fingerprint_covers_every_field_that_a_person_does_not_change(field):
    other = ("eve@example.com",) if field == "to" else "other"
    assert replace(PENDING, **{field: other}).fingerprint != PENDING.fingerprint


@pytest.mark.parametrize("field", ["status", "approved_at", "approval_id"])
def test_the_fingerprint_leaves_out_what_a_person_changes_and_what_it_is_looked_up_by(field):
    assert replace(PENDING, **{field: "other"}).fingerprint == PENDING.fingerprint


def test_a_file_is_written_so_that_a_person_can_read_it():
    file = replace(
        PENDING, to=("bob@example.com", "carol@example.com"), subject='He said "no\\yes"\u2028', expires="soon"
    )
    assert render(file).decode() == (
        '---\ntype: email_send\nstatus: pending\naction_type: send_email\napproval_id: "a0123456789"\nto:\n'
        '  - "bob@example.com"\n  - "carol@example.com"\nsubject: "He said \\"no\\\\yes\\"\\U00002028"\n'
        'created: "2026-11-15T10:00:00+00:00"\nexpires: "soon"\n'
        f'content_sha256: "{"ab" * 32}"\n---\n# Approve?\n\nwords\n'
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf---\ntype: email_send\n---\nwords",
        b"--- \t\ntype: email_send\n---\t \nwords",
        b"---\r\ntype: email_send\r\n---\r\nwords",
    ],
)
def test_what_editors_do_to_a_file_does_not_matter(raw):
    assert parse(raw) == ApprovalFile(type="email_send", status="", body="words")


def test_a_list_of_nobody_is_nobody():
    assert parse(b"---\ntype: email_send\nto: []\n---\n").to == ()


def test_a_type_that_is_missing_is_asked_for_and_keys_that_were_not_understood_are_named():
    kinds = "email_send, email_reply, email_forward, unsubscribe, vacation"
    with pytest.raises(InvalidRequest) as refused:
        parse(b"---\nTyp: email_send\nStatus: approved\n---\n")
    assert refused.value.message == (
        f"The approval file needs type: {kinds} (keys not understood: Status, Typ). It was not used."
    )
    with pytest.raises(InvalidRequest, match=f"needs type: {kinds}. It was not used"):
        parse(b"---\nstatus: approved\n---\n")
    with pytest.raises(InvalidRequest) as long:
        parse(b"---\n" + b"".join(b"key%d: x\n" % number for number in range(99)) + b"---\n")
    assert len(long.value.message) < 220


def test_a_file_of_a_mebibyte_is_read_and_no_larger_one():
    largest = b"---\ntype: email_send\n---\n".ljust(2**20, b"x")
    assert parse(largest).type == "email_send"
    with pytest.raises(InvalidRequest, match="larger than 1 MiB"):
        parse(largest + b"x")


def test_crlf_line_ends_of_an_editor_do_not_count_as_a_change():
    assert parse(render(PENDING).replace(b"\n", b"\r\n")).fingerprint == PENDING.fingerprint


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "front matter"),
        (b"type: email_send\n", "front matter"),
        (b"---\ntype: email_send\n", "front matter"),
        (b"---\ntype: &x email_send\n---\n", "anchors"),
        (b"---\nstatus: &x approved\ntype: *x\n---\n", "anchors"),
        (b"---\ntype: !!python/object:os.system email_send\n---\n", "tags"),
        (b"---\ntype: !!str email_send\n---\n", "tags"),
        (b"---\ntype: {a: email_send}\n---\n", "mapping"),
        (b"---\n- email_send\n---\n", "list"),
        (b"---\ntype: [email_send]\n---\n", "list"),
        (b"---\nto: [[a]]\ntype: email_send\n---\n", "list"),
        (b"---\nemail_send\n---\n", "not a mapping"),
        (b"---\ntype: email_send\ntype: email_reply\n---\n", "repeats a key"),
        (b"---\ntype: 'email_send\n---\n", "valid YAML"),
        (b"---\ntype: payment\n---\n", "needs type"),
        (b"---\nstatus: approved\n---\n", "needs type"),
        (b"---\ntype: email_send\n---\n\xff\xfe", "UTF-8"),
        (b"---\ntype: email_send\n---\n" + b"x" * MAX_FILE_BYTES, "larger"),
    ],
)
def test_a_file_that_could_be_read_in_two_ways_is_refused(raw, why):
    with pytest.raises(InvalidRequest, match=why):
        parse(raw)


def test_a_single_recipient_may_be_written_without_a_list():
    assert parse(b"---\ntype: email_send\nstatus: approved\nto: bob@example.com\n---").to == ("bob@example.com",)


WHOLE = ApprovalFile(**{field.name: field.name for field in fields(ApprovalFile)} | {"to": ("to",)})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [field.name for field in fields(ApprovalFile)])
def test_the_fingerprint_covers_every_field_but_those_a_person_changes(name):
    changed = replace(WHOLE, **{name: ("other",) if name == "to" else "other"})
    is_covered = changed.fingerprint != WHOLE.fingerprint
    assert is_covered == (name not in ("status", "approved_at", "approval_id"))


def test_a_question_asked_by_an_earlier_release_is_recognised():
    """Fingerprints are kept with the approvals: one that came out otherwise would void what waits for a person."""
    assert PENDING.fingerprint == "7b7952ca11bc53dc5034a1e214890b4f3d940446e28d192c5d18b68d19c9211b"


def test_no_two_fields_can_exchange_their_words_unnoticed():
    one, other = replace(WHOLE, created="x", expires="y"), replace(WHOLE, created="y", expires="x")
    assert one.fingerprint != other.fingerprint


def test_hidden_and_look_alike_letters_are_spelt_out_in_the_front_matter():
    file = replace(PENDING, to=("b\u043eb@b\u00fccher.example",), subject="a\u202eb\u3164c\u200b字")
    content = render(file).decode()
    assert '"b\\U0000043eb@b\\U000000fccher.example"' in content
    assert 'subject: "a\\U0000202eb\\U00003164c\\U0000200b字"' in content
    assert parse(content.encode()) == file


def test_a_file_that_could_not_be_read_back_after_an_editor_had_it_is_refused():
    refuse_endless(replace(PENDING, body="x" * (MAX_FILE_BYTES - 6000)))
    for body in ("x" * MAX_FILE_BYTES, "x\n" * (MAX_FILE_BYTES // 3)):
        with pytest.raises(InvalidRequest, match="Shorten the body"):
            refuse_endless(replace(PENDING, body=body))


def test_a_file_is_refused_when_it_could_not_be_read_back_after_an_editor_had_it():
    bare = len(render(PENDING)) - len(PENDING.body)
    lines = render(replace(PENDING, body="")).count(b"\n")
    fits = replace(PENDING, body="x" * (MAX_FILE_BYTES - 4096 - bare - lines))
    refuse_endless(fits)
    for longer in (fits.body + "x", fits.body[1:] + "\n"):  # a line end may become two bytes
        with pytest.raises(InvalidRequest, match="1 MiB") as refused:
            refuse_endless(replace(fits, body=longer))
        assert refused.value.details == {"field": "body"}


def test_what_a_file_does_not_say_is_nothing():
    bare = ApprovalFile("email_send", "pending")
    said = {field.name: getattr(bare, field.name) for field in fields(bare)}
    assert said.pop("to") == ()
    assert (said.pop("type"), said.pop("status")) == ("email_send", "pending")
    assert set(said.values()) == {""}
    assert render(bare) == b"---\ntype: email_send\nstatus: pending\n---\n"
    assert parse(b"---\ntype: email_send\nstatus: pending\n---\n") == bare
