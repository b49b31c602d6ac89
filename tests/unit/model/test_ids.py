"""Handles are short, say what they name, and do not repeat."""

from __future__ import annotations

import pytest

from postroom.model.ids import Kind, is_handle, new_handle


@pytest.mark.parametrize("kind", list(Kind))
def test_a_new_handle_is_one_of_its_kind_and_of_no_other(kind: Kind) -> None:
    handle = new_handle(kind)
    assert len(handle) <= 20
    assert is_handle(handle, kind)
    assert not any(is_handle(handle, other) for other in Kind if other is not kind)


def test_handles_do_not_repeat() -> None:
    assert len({new_handle(Kind.EMAIL) for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize(
    "text", ["", "e", "e123", "e123456789", "e12345678901", "e123456789i", "E1234567890", "e123456789\n"]
)
def test_anything_else_is_no_handle(text: str) -> None:
    assert not is_handle(text, Kind.EMAIL)


def test_kinds_begin_with_different_letters() -> None:
    assert len({kind.value for kind in Kind}) == len(Kind)
