"""A dataclass that is built quickly is the same as before in every other way."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.quickly_built import quickly_built
from postroom.service.views import EmailRow


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 3
    tags: tuple[str, ...] = ()


@quickly_built
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    size: int = 3
    tags: tuple[str, ...] = ()


def test_it_takes_the_same_arguments() -> None:
    plain, quick = inspect.signature(Plain), inspect.signature(Quick)
    assert str(plain) == str(quick)
    assert repr(Quick("a", tags=("x",))) == repr(Plain("a", tags=("x",))).replace("Plain", "Quick")


@pytest.mark.parametrize("wrong", [{}, {"name": "a", "other": 1}], ids=["one missing", "one unknown"])
def test_it_refuses_the_same_arguments(wrong: dict[str, object]) -> None:
    for kind in (Plain, Quick):
        with pytest.raises(TypeError, match=r"__init__\(\) (missing|got an unexpected)"):
            kind(**wrong)  # type: ignore[arg-type]


def test_nothing_can_be_changed_once_it_is_built() -> None:
    built = Quick("a")
    for change in (lambda: setattr(built, "name", "b"), lambda: delattr(built, "name")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert type(built) is Quick
    assert built.name == "a"


def test_equal_ones_are_equal_and_have_one_hash() -> None:
    assert Quick("a", 1) == Quick("a", 1) != Quick("a", 2)
    assert len({Quick("a", 1), Quick("a", 1), Quick("a", 2)}) == 2
    assert replace(Quick("a"), size=9) == Quick("a", 9)


def test_they_can_be_copied_and_pickled() -> None:
    envelope = Envelope("1", "t", "INBOX", Address("a@x.example"), subject="hi", size=7)
    for value in (Quick("a", 1, ("b",)), envelope):
        assert pickle.loads(pickle.dumps(value)) == value == copy.copy(value)


def test_what_lists_are_made_of_keeps_the_order_of_its_fields() -> None:
    row = EmailRow("e", "t", "acc", "INBOX", "s", (), "sub", "d", "sn", True, False, True, (), 5)
    assert (row.email_id, row.size, row.is_draft, row.marks) == ("e", 5, False, "*@")


def test_each_has_a_value_of_its_own_where_a_factory_makes_it() -> None:
    @quickly_built
    @dataclass(frozen=True, slots=True)
    class WithFactory:
        names: list[str] = field(default_factory=list)
        size: int = 0

    first, second = WithFactory(size=2), WithFactory()
    assert first.names == second.names == []
    assert first.names is not second.names
    assert WithFactory(["a"]) == WithFactory(names=["a"]) != WithFactory()
    assert (first.size, second.size) == (2, 0)


def test_a_dataclass_that_does_more_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        size: int = 0

        def __post_init__(self) -> None: ...

    with pytest.raises(TypeError, match="Checked does more"):
        quickly_built(Checked)
