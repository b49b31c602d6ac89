"""Postroom's own script: whatever the words of a reply are, it reads back as it was written, and so do the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.errors import Conflict, InvalidRequest
from postroom.model.folder import Folder, Role
from postroom.model.rule import Action, Condition, Rule
from postroom.model.vacation import Vacation
from postroom.providers import sieve
from postroom.providers.sieve_script import OFF, Script, read

FOLDERS = [Folder("INBOX", "INBOX", Role.INBOX)]
TRICKY = [
    '"',
    "\\",
    "\n",
    ".",
    "# vacation: {",
    "# rule: {",
    "if false {",
    "} # here they end",
    "text:",
    "*/",
    ";",
    "\u2028",
]
WORDS = st.lists(st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5)).map(
    "".join
)
LINE = WORDS.map(lambda text: text.replace("\n", " "))
NAMES = WORDS.filter(bool)
MOMENTS = st.none() | st.integers(0, 10**9).map(
    lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(0, seconds)
)


def rules(name: str) -> str:
    rule = Rule(name, (Condition("subject", "contains", ("Lunch",)),), (Action("star"),))
    return sieve.compiled([rule], FOLDERS)


SCRIPTS = st.builds(
    Script,
    st.just("") | NAMES.map(rules),
    st.booleans(),
    st.just(OFF) | st.builds(Vacation, st.booleans(), LINE, WORDS, st.just(""), MOMENTS, MOMENTS),
    st.lists(LINE.filter(bool), max_size=2).map(tuple),
).map(lambda one: one if one.rules else Script("", False, one.vacation, one.addresses))


@given(SCRIPTS)
def test_a_script_reads_back_as_it_was_written(script: Script) -> None:
    found = read(script.text.replace("\n", "\r\n"), is_active=script.runs)

    assert (found.rules, found.rules_on, found.vacation) == (script.rules, script.rules_on, script.vacation)
    assert sieve.rules_of(found.rules) == sieve.rules_of(script.rules)
    assert found.text == script.text


@given(SCRIPTS)
def test_of_a_script_that_does_not_run_nothing_is_on(script: Script) -> None:
    found = read(script.text, is_active=False)

    assert not found.runs
    assert (found.rules, found.vacation.text) == (script.rules, script.vacation.text)


@given(SCRIPTS.filter(lambda script: script.vacation != OFF), st.data())
def test_a_change_to_the_reply_is_noticed(script: Script, data: st.DataObject) -> None:
    text = script.text
    start = f"\n{text}".index("\n# vacation: ") + len("# vacation: ")  # the names of rules may contain it, too
    place = data.draw(st.integers(start, len(text) - 2))
    changed = text[:place] + data.draw(st.sampled_from(["x", ";", "}", '"', "\n"])) + text[place:]
    if changed.rstrip("\n") == text.rstrip("\n"):
        return
    try:
        found = read(changed, is_active=True)
    except Conflict:
        return
    assert found.text.rstrip("\n") == changed.rstrip("\n")  # what it reads is all that it says


@pytest.mark.parametrize("text", ["a\0", "a\r", "\x85", "\ud800"])
def test_no_control_character_is_ever_written(text: str) -> None:
    for vacation in (Vacation(True, "", text), Vacation(True, text, "words")):
        with pytest.raises(InvalidRequest):
            _ = Script(vacation=vacation).text
