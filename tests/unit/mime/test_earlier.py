"""What is kept of earlier mail is bounded, and a process that is handed it knows the same."""

from __future__ import annotations

import pickle

import pytest

from postroom.mime.limits import MAX_EARLIER, MAX_NAMES
from postroom.mime.quotes.earlier import Earlier, words_of
from postroom.mime.quotes.folding import ThreadContext, context_of, fold_text
from postroom.mime.read.parse import Parsed


def test_another_process_is_handed_words_and_no_hashes() -> None:
    earlier = Earlier(["The repair starts on Monday.", "Bring [ropes](https://x.example/)."], ["Marta Quist"])
    asked = [words_of("the repair starts on monday"), words_of("monday bring ropes and a ladder")]
    assert earlier.copied(asked) == [True, False]
    handed: Earlier = pickle.loads(pickle.dumps(earlier))
    assert vars(handed) | {"_runs": {}} == vars(earlier) | {"_runs": {}}
    assert not vars(handed)["_runs"]
    assert handed.copied(asked) == [True, False]


def test_nothing_said_stays_nothing() -> None:
    handed: Earlier = pickle.loads(pickle.dumps(Earlier()))
    assert handed.copied([["hello"]]) == [False]


def test_only_so_much_of_earlier_mail_is_kept() -> None:
    phrases = "\ufdfa" * MAX_EARLIER  # eighteen letters each
    earlier = Earlier([phrases, "words after that"], [f"name{number}" for number in range(2 * MAX_NAMES)])
    assert len(pickle.dumps(earlier)) < 10 * MAX_EARLIER
    assert len(earlier.names) == MAX_NAMES
    assert earlier.copied([words_of("words after that")]) == [False]


def test_what_is_beyond_the_comparison_is_shown() -> None:
    line = "> the same seven words again and again\n"
    text = "Fine.\n" + line * (MAX_EARLIER // 5) + "> last of them"
    context = ThreadContext(is_reply=True, earlier=Earlier([line, "last of them"]))
    folded = fold_text(text, context)
    assert folded.folded > MAX_EARLIER
    assert folded.text.startswith("Fine.\n> […]\n> the same seven")
    assert folded.text.endswith("> last of them")


def test_a_subject_of_any_length_makes_a_small_context() -> None:
    mail = Parsed(subject="Fwd: " + "long " * 100_000, in_reply_to="<a@b.example>")
    context = context_of(mail, Earlier())
    assert context.is_forward
    assert len(pickle.dumps(context)) < 2_000


def test_piles_of_signs_are_compared_to_the_last_one() -> None:
    party = "\U0001f389"
    assert words_of(party * 100) == [party] * 100
    assert words_of("e" + "\u0301" * 100 + "t" + "\u0301") == ["é", "t"]


@pytest.mark.parametrize(
    "text", ["", "Don't pay $50 (20%)!", "a_b\tC\r\nd\x00e\x7f", "".join(map(chr, range(128))) * 2]
)
def test_plain_english_has_the_words_that_any_text_has(text: str) -> None:
    assert words_of(text) == words_of(f"{text} é")[:-1]


def test_a_copy_of_a_whole_message_and_one_of_its_pieces_are_told_from_new_words() -> None:
    said = "one two three four five six seven"
    earlier = Earlier([f"before {said} after", "short one"])
    copied = [words_of(line) for line in (said, "short one")]
    assert earlier.copied(copied[:1]) == [True]
    assert earlier.copied(copied[1:]) == [True]
    assert earlier.copied(copied) == [True, False]  # neighbours here and not there: less than a run is no copy
    assert earlier.copied([words_of("one two"), words_of("three four five six")]) == [True, True]
    assert earlier.copied([words_of("ne two three four five")]) == [False]
    assert earlier.copied([words_of("one two three four fiv")]) == [False]
    assert earlier.copied([[]]) == [False]


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Transfer 1.500 to the landlord", "Transfer 1,500 to the landlord"),
        ("The margin is 5 % this quarter", "The margin is -5 % this quarter"),
        ("The margin is 5 % — this quarter", "The margin is \u22125 % — this quarter"),
        ("Send 1-2 boxes of pens", "Send 1+2 boxes of pens"),
        ("The balance is **-500** until Friday", "The balance is **500** until Friday"),
        ("The balance is €-500 until Friday", "The balance is €500 until Friday"),
        ('The sensor said "-5" again today', 'The sensor said "5" again today'),
        ("Buy apples, pears and plums today", "Buy apples, ~~pears~~ and plums today"),
    ],
)
def test_a_number_with_another_sign_and_a_struck_out_word_are_no_copy(said: str, quoted: str) -> None:
    assert Earlier([said]).copied([words_of(quoted)]) == [False]


def test_layout_around_numbers_makes_no_difference() -> None:
    said = Earlier(
        ["* 5 pens, 12; (7) rulers: 3.\n**20** sheets - 4/5 at 10:30, on 2026-11-02.\nRoom B-12: **-5** degrees"]
    )
    lines = [
        "> - 5 pens, 12;",
        "> (7) rulers: 3. 20",
        "> sheets - 4/5 at",
        "> 10:30, on *2026-11-02*.",
        ">Room B-12:",
        ">-5 degrees",
    ]
    assert said.copied(list(map(words_of, lines))) == [True] * 6
