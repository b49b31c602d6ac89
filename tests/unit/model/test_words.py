"""Words are the same, whichever way the characters of a text are replaced."""

from __future__ import annotations

from random import Random

import pytest

from postroom.model import words

SIGNS = "abc XYZ 1-.\n\0äÄßẞéİſΣςЯйЁ会议한ไทテスト①\u0301\u200b\u00a0\u3000\ud800\ue000\U0001f389\U00020000"


@pytest.mark.parametrize("seed", range(20))
def test_few_different_characters_are_replaced_as_many_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    texts = ["".join(chance.choices(SIGNS, k=chance.randrange(120))) for _ in range(50)]
    few = [(words.words(text), words.letters_and_words(text)) for text in texts]
    monkeypatch.setattr(words, "_FEW", 0)
    assert few == [(words.words(text), words.letters_and_words(text)) for text in texts]
    joined = [" ".join(words.letters_and_words(text)) for text in texts]
    assert joined == [words.letters_and_words_in_line(text) for text in texts]


def test_what_a_character_becomes_stays_as_it_is() -> None:
    """Otherwise it would matter which is replaced first."""
    for table in (words._WORDS, words._LETTERS_AND_WORDS):
        for code in range(128, 0x30000):
            for char in table[code].strip():
                assert table[ord(char)].strip() == char or char.isascii()
