"""Rules that people and models write, and hostile ones: each is read as it stands or refused with line and field."""

from __future__ import annotations

import pytest

from postroom.model.errors import InvalidRequest
from postroom.model.rule import Action, Condition, Definition, Rule, Safety
from postroom.service.rules.document import read_rule, version_of

ARCHIVE_NEWS = """\
version: 1
name: archive-newsletters
enabled: true
conditions:            # all must hold
  - {field: from, operator: matches, value: "*@substack.com"}
  - {field: age_days, operator: greater_than, value: 7}
actions:
  - {type: apply_label, label: archived}
  - {type: archive}
safety: {dry_run_required: true, audit: true, max_actions_per_run: 100}
"""


def with_line(number: int, text: str) -> str:
    lines = ARCHIVE_NEWS.splitlines()
    lines[number - 1] = text
    return "\n".join(lines)


def test_the_rule_of_the_contract_is_read_word_for_word() -> None:
    rule = Rule(
        "archive-newsletters",
        (Condition("from", "matches", ("*@substack.com",)), Condition("age_days", "greater_than", ("7",))),
        (Action("apply_label", "archived"), Action("archive")),
    )

    assert read_rule(ARCHIVE_NEWS) == Definition(rule, True, None, Safety(True, True, 100))


def test_both_ways_to_negate_mean_the_same() -> None:
    inside = read_rule(with_line(5, "  - {not: {field: from, operator: equals, value: a@b.example}}"))
    beside = read_rule(with_line(5, "  - {field: from, operator: equals, value: a@b.example, not: true}"))

    assert inside == beside
    assert inside.rule.conditions[0].negated
    assert version_of(inside) == version_of(beside) != version_of(read_rule(ARCHIVE_NEWS))


@pytest.mark.parametrize(
    ("schedule", "minutes"), [("hourly", 60), ("daily", 1440), ("{every_minutes: 5}", 5), ("weekly", 10_080)]
)
def test_schedules(schedule: str, minutes: int) -> None:
    assert read_rule(f"{ARCHIVE_NEWS}schedule: {schedule}\n").every_minutes == minutes


def test_sizes_numbers_and_words_of_yaml_are_taken_as_they_are_meant() -> None:
    text = with_line(5, "  - {field: size, operator: greater_than, value: 5M}")
    assert read_rule(text).rule.conditions[0].values == (str(5 * 2**20),)
    text = with_line(5, "  - {field: subject, operator: contains, value: 2026}")
    assert read_rule(text).rule.conditions[0].values == ("2026",)
    text = with_line(5, "  - {field: has_attachment, operator: equals, value: yes}")
    assert read_rule(text).rule.conditions[0].values == ("true",)


@pytest.mark.parametrize(
    ("line", "text", "path", "said"),
    [
        (1, "version: 2", "version", "must be 1"),
        (2, "nmae: x", "nmae", "is not a key of a rule"),
        (2, "name: ''", "name", "must be 1 to 80 characters"),
        (3, "enabled: perhaps", "enabled", "must be true or false"),
        (5, "  - {field: form, operator: matches, value: x}", "conditions[0].field", "must be one of from, to, cc"),
        (5, "  - {field: from, operator: like, value: x}", "conditions[0].operator", "must be one of equals, matches"),
        (5, "  - {field: from, operator: less_than, value: 1}", "conditions[0].operator", "does not apply to from"),
        (5, "  - {field: from, operator: equals, value: bob}", "conditions[0].value", "compares the whole address"),
        (5, "  - {field: from, operator: in, value: a@b.c}", "conditions[0].value", "must be a list"),
        (5, "  - {field: from, operator: equals}", "conditions[0].value", "is missing"),
        (5, "  - {field: body, operator: contains, value: '%%'}", "conditions[0].value", "neither letters nor digits"),
        (6, "  - {field: age_days, operator: greater_than, value: -1}", "conditions[1].value", "from 0 to"),
        (6, "  - {field: size, operator: less_than, value: big}", "conditions[1].value", "a size like 300K"),
        (8, "  - {type: move_folder, label: x}", "actions[0].label", "takes only folder"),
        (8, "  - {type: forward}", "actions[0]", "needs to"),
        (8, "  - {type: forward, to: nobody}", "actions[0].to", "one email address"),
        (8, "  - {type: delete}", "actions[1]", "archive contradicts delete"),
        (8, "  - {type: explode}", "actions[0].type", "must be one of apply_label"),
        (10, "safety: {max_actions_per_run: 0}", "safety.max_actions_per_run", "from 1 to 1000"),
        (10, "safety: {max_actions_per_run: 1}", "safety.max_actions_per_run", "must be at least 2"),
        (10, "schedule: {every_minutes: 1}", "schedule.every_minutes", "from 5 to"),
        (10, "schedule: often", "schedule", "hourly, daily, weekly"),
        (10, "name: again", "name", "stands here twice"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(line: int, text: str, path: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_rule(with_line(line, text))

    where = 9 if path == "actions[1]" else line
    assert said in refused.value.message
    assert refused.value.details == {"field": "rule_yaml", "line": where, "path": path}


@pytest.mark.parametrize(
    "pair",
    [
        ("{type: mark_read}", "{type: mark_unread}"),
        ("{type: apply_label, label: A}", "{type: remove_label, label: a}"),
        ("{type: delete}", "{type: move_folder, folder: x}"),
        ("{type: star}", "{type: star}"),
    ],
)
def test_actions_that_contradict_or_repeat_each_other_are_refused(pair: tuple[str, str]) -> None:
    conditions = "conditions: [{field: size, operator: less_than, value: 1}]"
    text = f"version: 1\nname: x\n{conditions}\nactions: [{', '.join(pair)}]"
    with pytest.raises(InvalidRequest, match="contradicts"):
        read_rule(text)


BOMB = "a: &a [x,x]\nb: &b [*a,*a]\n" + "".join(f"c{n}: &c{n} [*b,*b]\n" for n in range(20))


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "just text",
        "- a\n- list",
        BOMB,
        "a: !!python/object/apply:os.system [ls]",
        "version: !!int 1",
        "[" * 5000,
        "{a: " * 400,
        "x" * 20_000,
        "version: 1\n---\nversion: 1",
        "\x00",
        "version: 1\nname: 'a\u202eb\n'",
        ": : :",
        "? {a: b}\n: c",
        "\tversion: 1",
        "version: 1\nname: x\nconditions: []\nactions: []",
        "actions: " + "[a, " * 900,
        "\ud800",
    ],
)
def test_hostile_yaml_is_refused_as_a_mistake_in_the_rule(hostile: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_rule(hostile)
    assert refused.value.details["field"] == "rule_yaml"
    assert len(refused.value.message) < 500
