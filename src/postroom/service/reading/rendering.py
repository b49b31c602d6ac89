"""Bodies as they are shown, with quoted history folded: of one message, or of a thread in as few steps as possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast, get_args

from postroom.mime.limits import MAX_INLINE_HTML
from postroom.mime.quotes.earlier import Earlier
from postroom.model.errors import InvalidRequest
from postroom.model.message import Message
from postroom.service.gateway import Account, Gateway
from postroom.service.reading.history import find_answered, names_of

if TYPE_CHECKING:
    from postroom.mime.render import Format, Rendered

R = TypeVar("R")

BodyFormat = Literal["markdown", "text", "html", "links", "raw"]
MAX_BODY_CHARS: Final = 200_000
MAX_CHARS: Final = 3500  # shown unless more is asked for: about a thousand tokens, and enough for most messages
# What the event loop renders itself, since a change of threads and back takes longer than most letters: text without
# HTML, and of that so little that the worst of it (lines that all look like the beginning of a quote) takes twenty
# milliseconds. Letters that are not ASCII take twice as long, and others may stand for whole phrases when texts are
# compared: only what European languages are written with counts as brief.
_BRIEF_CHARS: Final = 8192
_BRIEF_LINES: Final = 200
_EUROPEAN = re.compile("[\0-\u02ff\u0370-\u052f\u2010-\u2027\u20ac]*")
_AT_ONCE: Final = MAX_INLINE_HTML  # characters of a thread that one step renders; between steps a call can be cancelled


@dataclass(frozen=True, slots=True)
class Reading:
    """How a body is wanted: in which format, with or without quoted history, which slice of it."""

    body_format: str = "markdown"
    include_quoted: bool = False
    max_chars: int = MAX_CHARS
    offset: int = 0

    def __post_init__(self) -> None:
        if self.body_format not in get_args(BodyFormat):
            raise InvalidRequest(
                "body_format must be markdown, text, html, links or raw.", details={"field": "body_format"}
            )
        if not 1 <= self.max_chars <= MAX_BODY_CHARS:
            raise InvalidRequest(f"max_chars must be between 1 and {MAX_BODY_CHARS}.", details={"field": "max_chars"})
        if self.offset < 0:
            raise InvalidRequest("offset must not be negative.", details={"field": "offset"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A message, and the one it answers, if that is there."""

    message: Message
    answered: Message | None = None

    @property
    def both(self) -> tuple[Message, ...]:
        return (self.message,) if self.answered is None else (self.message, self.answered)


async def render_one(gateway: Gateway, account: Account, message: Message, reading: Reading) -> Rendered:
    """The message that it answers is looked for only where it may be quoted."""
    rendered = await _run(gateway, [message], partial(_body, message, reading, None))
    if not rendered.may_quote:
        return rendered
    answer = Answer(message, await find_answered(account, message.envelope))
    return await _run(gateway, answer.both, partial(_Conversation(reading).next, answer))


async def render_thread(gateway: Gateway, answers: Sequence[Answer], reading: Reading) -> list[Rendered]:
    """Oldest first, each with all earlier text known: what was shown once is folded from then on."""
    conversation = _Conversation(reading)
    each_once = {id(message): message for answer in answers for message in answer.both}
    if is_brief(list(each_once.values())):
        return conversation.rendered(answers)
    shown: list[Rendered] = []
    for some in _in_steps(answers):
        shown += await gateway.read(conversation.rendered, some)
    return shown


def is_brief(messages: Sequence[Message]) -> bool:
    """Whether rendering all of them takes no longer than the event loop can spare."""
    texts = [message.body.text for message in messages]
    if any(message.body.html for message in messages) or not _are_brief(texts):
        return False
    names = [name for message in messages for name in names_of(message.envelope)]
    return sum(text.count("\n") for text in texts) <= _BRIEF_LINES and _are_brief(names)


def _are_brief(texts: Sequence[str]) -> bool:
    foreign = [text for text in texts if not text.isascii()]
    is_short = sum(map(len, texts)) + sum(map(len, foreign)) <= _BRIEF_CHARS
    return is_short and all(_EUROPEAN.fullmatch(text) for text in foreign)


async def _run(gateway: Gateway, messages: Sequence[Message], work: Callable[[], R]) -> R:
    return work() if is_brief(messages) else await gateway.read(work)


def _in_steps(answers: Sequence[Answer]) -> Iterator[Sequence[Answer]]:
    """As many at once as are no longer together than one message that is not handed to a worker."""
    start, length = 0, 0
    for end, answer in enumerate(answers):
        own = sum(len(message.body.text) + len(message.body.html) for message in answer.both)
        if end > start and length + own > _AT_ONCE:
            yield answers[start:end]
            start, length = end, 0
        length += own
    yield answers[start:]


@dataclass(slots=True)
class _Conversation:
    """What was said so far."""

    reading: Reading
    said: Earlier = field(default_factory=Earlier)
    ids: set[str] = field(default_factory=set)  # of the messages that this is
    last: tuple[Message, str] | None = None  # not among them yet: nobody may answer it

    def rendered(self, answers: Sequence[Answer]) -> list[Rendered]:
        shown: list[Rendered] = []
        for answer in answers:
            shown.append(self.next(answer))
            self.last = answer.message, shown[-1].whole
        return shown

    def next(self, answer: Answer) -> Rendered:
        if self.last is not None:
            self._add(*self.last)
        answered = answer.answered
        if answered is not None and answered.envelope.message_id not in self.ids:
            self._add(answered, _body(answered, Reading(include_quoted=True), None).whole)
        return _body(answer.message, self.reading, self.said)

    def _add(self, message: Message, text: str) -> None:
        self.said.add(text, names_of(message.envelope))
        self.ids.add(message.envelope.message_id)


def _body(message: Message, reading: Reading, earlier: Earlier | None) -> Rendered:
    """`earlier` None: before a look at the thread."""
    from postroom.mime import guarded
    from postroom.mime.quotes.folding import context_of

    fmt = cast("Format", reading.body_format)
    context = context_of(message.envelope, earlier, can_be_asked=True)
    return guarded.render(message.body, fmt=fmt, keep_quoted=reading.include_quoted, context=context)
