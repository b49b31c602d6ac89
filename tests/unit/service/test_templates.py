"""Templates: what is understood, what is refused and how, and that a value stays a value."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, PostroomError
from postroom.service.templates import library
from postroom.service.templates.front_matter import read, write
from postroom.service.templates.rendering import Rendered, fill
from postroom.service.templates.template import Format, Template, Variable, make


def template(body: str, *, fmt: Format = "text", subject: str = "", **variables: str | None) -> Template:
    declared = tuple(Variable(name, default is None, default or "") for name, default in variables.items())
    return make("letter", fmt, subject=subject, body=body, declared=declared)


def rendered(body: str, given: dict[str, Any], **more: Any) -> Rendered:
    return fill(template(body, **more), given)


def test_values_take_the_places_of_their_names_in_subject_and_body() -> None:
    made = rendered("Dear {{ name }},\n{{name}} wins {{ sum }}.", {"name": "Zoë", "sum": 3.5}, subject="To {{ name }}")

    assert (made.subject, made.text, made.html) == ("To Zoë", "Dear Zoë,\nZoë wins 3.5.", "")


def test_a_file_system_that_takes_two_spellings_for_one_file_keeps_what_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file, other = library.atomic_file.replace, tmp_path / "LETTER.txt"

    def known_by_both(path: Path, content: bytes) -> None:
        write_file(path, content)
        other.unlink()
        os.link(path, other)

    other.write_text("old")
    monkeypatch.setattr(library.atomic_file, "replace", known_by_both)
    library.save(tmp_path, template("new"), overwrite=True)

    assert "new" in other.read_text()


def test_a_default_stands_in_and_a_given_value_wins() -> None:
    assert rendered("{{ a }}{{ b }}", {"b": "2"}, a="1", b="x").text == "12"


def test_a_value_is_never_read_as_a_template() -> None:
    assert rendered("{{ a }} {{ b }}", {"a": "{{ b }}", "b": "x"}).text == "{{ b }} x"


def test_braces_can_be_written_as_they_are() -> None:
    assert rendered(r"use \{{ name }} here", {}).text == "use {{ name }} here"


def test_a_condition_shows_its_lines_only_where_the_variable_is_set() -> None:
    body = "Hello\n{{ if phone }}\nCall {{ phone }}.\n{{ end }}\nBye"

    assert rendered(body, {"phone": "112"}).text == "Hello\nCall 112.\nBye"
    assert rendered(body, {}, phone="").text == "Hello\nBye"


def test_missing_and_unknown_variables_are_named() -> None:
    with pytest.raises(InvalidRequest, match="needs a, c") as missing:
        rendered("{{ a }}{{ b }}{{ c }}", {"b": "1", "a": " "})
    assert missing.value.details["missing"] == ["a", "c"]

    with pytest.raises(InvalidRequest, match=r"has no nmae\. It takes: name") as unknown:
        rendered("{{ name }}", {"nmae": "x", "name": "y"})
    assert unknown.value.details["unknown"] == ["nmae"]


@pytest.mark.parametrize("value", ["a\nb", "a\r\nBcc: x@example.com", "a\u2028b"])
def test_a_line_break_never_gets_into_the_subject(value: str) -> None:
    with pytest.raises(InvalidRequest, match="variable name"):
        rendered("", {"name": value}, subject="For {{ name }}")


def test_values_are_escaped_in_html_and_stay_as_they_are_in_text() -> None:
    given = {"name": '<b>"Tom" & co</b>'}

    assert rendered("<p>{{ name }}</p>", given, fmt="html").html == "<p>&lt;b&gt;&quot;Tom&quot; &amp; co&lt;/b&gt;</p>"
    assert rendered("{{ name }}", given).text == '<b>"Tom" & co</b>'


def test_markdown_gives_both_versions_and_no_raw_html() -> None:
    made = rendered("Dear **{{ name }}**,\n<script>x</script>", {"name": "Ann"}, fmt="markdown")

    assert made.text == "Dear **Ann**,\n<script>x</script>"
    assert made.html == "<p>Dear <strong>Ann</strong>,<br />\n&lt;script&gt;x&lt;/script&gt;</p>\n"


@pytest.mark.parametrize(
    "value", ["# big", "**bold**", "[x](https://evil.example)", "- a\n- b", "    code", "<img src=x>"]
)
def test_no_value_becomes_markup_in_markdown(value: str) -> None:
    html = rendered("{{ v }}\n\nend", {"v": value}, fmt="markdown").html

    assert not any(tag in html for tag in ("<h1", "<strong", "<a ", "<li", "<code", "<img"))


def test_a_value_may_be_the_address_of_a_link_and_cannot_leave_it() -> None:
    html = rendered("[go]({{ url }})", {"url": 'https://x.example/?a="b"&c'}, fmt="markdown").html

    assert html == '<p><a href="https://x.example/?a=&quot;b&quot;&amp;c">go</a></p>\n'


@pytest.mark.parametrize(
    ("fmt", "body", "value", "said"),
    [
        ("markdown", "[go]({{ v }})", "javascript:alert(1)", "link of the kind javascript:"),
        ("markdown", "![x]({{ v }})", "data:text/html,x", "link of the kind data:"),
        ("markdown", "[go][r]\n\n[r]: {{ v }}", " \x01JaVa\tscript:alert(1)", "link of the kind JaVascript:"),
        ("html", '<a href="{{ v }}">x</a>', "vbscript:x", "link of the kind vbscript:"),
        ("html", "<A HREF = 'java{{ v }}'>x</A>", "script:x", "link of the kind javascript:"),
        ("html", '<form action="{{ v }}">', "data:x", "link of the kind data:"),
        ("html", "<a href={{ v }}>x</a>", "x onclick=y", "outside quotes"),
        ("html", "<a onclick=\"f('{{ v }}')\">x</a>", "y", "the attribute onclick"),
        ("html", "<style>{{ v }}</style>", "y", "inside <style>"),
    ],
)
def test_a_value_that_would_be_more_than_text_or_a_plain_link_is_refused(
    fmt: Format, body: str, value: str, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        rendered(body, {"v": value}, fmt=fmt)


def test_what_the_template_itself_says_and_harmless_links_stay() -> None:
    body = '<img src="data:image/png;base64,AA"><a href="{{ v }}" title="{{ v }}">{{ v }}</a>'
    for value in ("https://x.example/a:b?c=javascript:d", "mailto:sam@x.example", "tel:+4930", "/path", "x > y"):
        assert rendered(body, {"v": value}, fmt="html").html.startswith('<img src="data:image/png;base64,AA"><a href="')
    assert "javascript:x" in rendered("{{ v }}", {"v": "javascript:x"}, fmt="markdown").html


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("a\n{{ user.name }}", 2, "not {{ name }}"),
        ("{{ 7*7 }}", 1, "not {{ name }}"),
        ("{{ name", 1, "without }}"),
        ("{{ if a }}\n{{ if b }}", 2, "inside another"),
        ("x\n\n{{ if a }}", 3, "without {{ end }}"),
        ("{{ end }}", 1, "without {{ if"),
        ("{{ if a.b }}{{ end }}", 1, "not the name of a variable"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(body: str, line: int, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        template(body)

    assert refused.value.details["line"] == line
    assert said in refused.value.message


def test_what_comes_out_is_bounded() -> None:
    with pytest.raises(InvalidRequest, match="longer than"):
        rendered("{{ a }}" * 1000, {"a": "x" * 10_000})


# --- files

FILE = """\
---
name: welcome
subject: "Welcome, {{ first_name }}"
description: First message
variables:
  first_name: {description: Given name}
  product: Postroom
  phone: {required: false}
---
Dear {{ first_name }}, welcome to {{ product }}.
"""


def test_a_file_is_read_with_its_front_matter() -> None:
    made = read("welcome", "markdown", FILE.encode())

    assert (made.subject, made.description) == ("Welcome, {{ first_name }}", "First message")
    assert made.variables == (
        Variable("first_name", description="Given name"),
        Variable("product", False, "Postroom"),
        Variable("phone", False),
    )
    assert fill(made, {"first_name": "Ann"}).text == "Dear Ann, welcome to Postroom.\n"


def test_variables_may_be_a_plain_list_and_front_matter_may_be_absent() -> None:
    assert read("a", "text", b"---\nvariables: [x, y]\n---\n").variables == (Variable("x"), Variable("y"))
    assert read("a", "text", b"Hello {{ x }}").variables == (Variable("x"),)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("---\nsubject: x\n", 1, "no line with ---"),
        ("---\nsubject: x\nsubjekt: y\n---\n", 3, "unknown key subjekt"),
        ("---\nsubject: x\nsubject: y\n---\n", 3, "repeats"),
        ("---\nsubject: {{ name }}\n---\n", 2, "quotes"),
        ("---\nsubject: 'open\n---\n", 3, "not valid YAML"),
        ("---\nsubject: &a x\n---\n", 2, "anchor"),
        ("---\nsubject: !!python/object:os.system x\n---\n", 2, "tag"),
        ("---\nvariables: [[[[x]]]]\n---\n", 2, "deeply"),
        ("---\nvariables:\n  a b: x\n---\n", 3, "not letters"),
        ("---\nvariables:\n  a: {default: x, required: true}\n---\n", 3, "keep one"),
        ("---\nname: other\n---\n", 2, "other than the file's"),
        ("---\nsubject: x\n---\nfine\n{{ 1 }}\n", 5, "not {{ name }}"),
    ],
)
def test_broken_front_matter_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read("letter", "text", text.encode())

    assert refused.value.details["line"] == line, refused.value.message
    assert said in refused.value.message


def test_what_is_saved_is_read_back_the_same() -> None:
    made = make(
        "über uns",
        "markdown",
        subject='a: "b" \\ {{ x }} 🎉',
        body="---\n{{ x }}\n",
        description="with\u2028break",
        declared=(Variable("x"), Variable("y", False, "two\nlines: {}")),
    )

    assert read("über uns", "markdown", write(made)) == made


def test_the_folder_lists_what_works_and_names_what_does_not(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Hello {{ x }}")
    (tmp_path / "bad.md").write_text("---\nsubject: x\n")
    (tmp_path / "notes.pdf").write_text("not a template")

    good, bad = library.load_all(tmp_path)

    assert [one.name for one in good] == ["good"]
    assert [one.problem for one in bad] == ["bad.md: Line 1 opens front matter that no line with --- closes."]


def test_a_folder_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert library.load_all(tmp_path / "none") == ([], [])


def test_an_unknown_name_brings_near_ones(tmp_path: Path) -> None:
    (tmp_path / "welcome.md").write_text("x")

    with pytest.raises(NotFound, match="Did you mean welcome"):
        library.load(tmp_path, "welcom")


@pytest.mark.parametrize("name", ["../secret", "a/b", "/etc/passwd", "..", ".hidden", "a.md", "", "a\0b", "x" * 65])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="no dots, no slashes"):
        library.load(tmp_path, name)


def test_links_large_files_and_twins_are_refused(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("password")
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "link.txt").symlink_to(outside)
    (folder / "large.txt").write_text("x" * (library.MAX_BYTES + 1))
    (folder / "twin.txt").write_text("x")
    (folder / "Twin.md").write_text("x")
    os.mkfifo(folder / "pipe.txt")

    def refused(name: str) -> type[PostroomError]:
        with pytest.raises(PostroomError) as error:
            library.load(folder, name)
        return type(error.value)

    assert refused("link") is PermissionDenied
    assert refused("pipe") is PermissionDenied
    assert refused("large") is InvalidRequest
    assert refused("twin") is Conflict


def test_saving_replaces_only_when_asked_and_also_in_another_format(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    library.save(folder, template("one"), overwrite=False)
    with pytest.raises(Conflict, match="overwrite"):
        library.save(folder, template("two"), overwrite=False)
    assert library.load(folder, "letter").body == "one"

    library.save(folder, template("three", fmt="markdown"), overwrite=True)

    assert [one.name for one in library.load_all(folder)[0]] == ["letter"]
    assert sorted(path.name for path in folder.iterdir()) == ["letter.md", "letter.txt.1.replaced"]
    assert (folder / "letter.md").stat().st_mode & 0o077 == 0


def test_what_is_replaced_can_be_had_back_and_does_not_pile_up(tmp_path: Path) -> None:
    library.save(tmp_path, template("by hand"), overwrite=False)
    for number in range(15):
        library.save(tmp_path, template(f"version {number}"), overwrite=True)
        if number == 0:
            assert (tmp_path / "letter.txt.1.replaced").read_text().endswith("by hand")
    kept = sorted(tmp_path.glob("*.replaced"))
    assert len(kept) == 10
    assert "version 13" in (tmp_path / "letter.txt.15.replaced").read_text()
    (tmp_path / "letter.txt.15.replaced").replace(tmp_path / "letter.txt")
    assert library.load(tmp_path, "letter").body == "version 13"
