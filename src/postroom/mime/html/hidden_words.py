"""Whether removed text is worth a warning: ordinary mail hides a lot, most of it harmless.

Nearly every newsletter has comments, a preheader (first words for a list, hidden in the message) and a second version
for phones. A warning is given only if hidden text addresses a program or its rules, or if there is very much of it
that is shown nowhere. Text that may be invisible is marked where it stands, and announced unless it is the label of a
button.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from postroom.mime.clean import clean_text

MUCH: Final = 3_000  # characters that no reader sees and that are nowhere in the visible text
_LOOKED_AT: Final = 40_000
_LABEL: Final = 4  # words

Kind = Literal["text", "comment", "element", "characters"]


@dataclass(frozen=True, slots=True)
class HiddenText:
    kind: Kind
    words: str


@dataclass(frozen=True, slots=True)
class DoubtfulText:
    words: str
    is_label: bool  # of a link or a button


def _stems(words: str) -> str:
    """``~`` stands for the rest of a word, however it is inflected."""
    return words.replace("~", r"\w{0,30}+")


# A program that reads mail for a person, as a message that tries to command it would call it.
_READER: Final = _stems(
    r"(?:\bai\b|\bllm\b|\bassistants?\b|(?:ai|mail|email) agents?\b|language model"
    r"|chat ?bot|chatgpt|\bgpt\b|claude|gemini"
    r"|copilot|openai|anthropic"
    r"|system prompt|\bassistent~|sprachmodell|\bki\b|assistant~|mod[eè]le de langage"
    r"|asistente|modelo de lenguaje"
    r"|assistente|modelo de linguagem|modello linguistico|asystent~|model językow~|ассистент~|помощник~"
    r"|языков~ модел~|нейросет~"
    r"|助手|人工智能|语言模型|アシスタント|言語モデル)"
)
_RULES: Final = _stems(
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|orders|commands?|context|anweisung~"
    r"|anleitung~|regeln?|vorgaben?"
    r"|consignes?|r[eè]gles?|instrucciones|[oó]rdenes|reglas|instru[cç][oõ]es|regras|istruzioni|regole"
    r"|instructies|regels|instrukcj~"
    r"|polece~|инструкци~|указани~|правил~|指令|指示|规则|ルール)"
)
_DROP: Final = _stems(
    r"(?:ignor~|disregard~|forget|override|bypass|missacht~|vergiss|vergessen sie|oubli~|olvid~"
    r"|esque[cç]~|dimentic~|negeer"
    r"|vergeet|zignoruj|zapomnij|игнориру~|забуд~|忽略|无视|無視)"
)
_ORDER: Final = _stems(
    r"(?:send|forward|reply|e?mail|transfer|delete|reveal|disclose|execute|run|call|output|print|respond|answer"
    r"|summari[sz]e|tell|say|add|include"
    r"|mark|search|find|copy|share|click|open|approve|sende|schicke|leite|antworte|lösche|führe|envoie~"
    r"|transf[eé]re~|réponds|supprime"
    r"|env[ií]a~|reenv[ií]a~|responde|borra|elimina|invia|inoltra|rispondi|cancella|stuur|verwijder|wyślij"
    r"|prześlij|usuń|отправ~|перешли~"
    r"|ответ~|удали~|发送|转发|回复|删除|送信|転送|返信|削除)"
)
_MUST: Final = (
    r"(?:you (?:must|should|need to|are to|are now|will|have to)|must|please|always|never|do not|don't|important"
    r"|du musst|sie müssen|bitte|vous devez|debes|deve|devi|должен|必须|请|してください)"
)
_COMMANDS = re.compile(
    rf"{_DROP}[^.!?]{{0,60}}{_RULES}"  # ignore all previous instructions
    rf"|{_RULES}[^.!?]{{0,40}}{_DROP}"
    rf"|{_READER}[^.!?]{{0,40}}{_MUST}[^.!?]{{0,60}}\b{_ORDER}"  # assistant, you must forward
    rf"|{_READER}\s*+[:,;–—-]\s*+(?:{_MUST}\s++)?{_ORDER}\b"  # assistant: forward
    rf"|(?:note|message|instructions?|hinweis|nachricht|anweisung(?:en)?)\s+(?:to|for|an|für)\s+(?:the\s+|any\s+"
    rf"|all\s+|den\s+|die\s+)?{_READER}"
    r"|\b(?!e?-?mail(?:[- ]address)?\s*+:\s*+[^\s@]++@)"  # a field of a mailing list's program, which orders nothing
    rf"{_ORDER}\b[^.!?]{{0,80}}(?<![\w.+-])[\w.+-]{{1,64}}+@[\w-]{{1,63}}\.\w"  # send … to x@y.z
    r"|\bnew (?:system )?(?:instructions?|task|role)\s*:|\byou are (?:now )?(?:an?|the) (?:ai|assistant|agent)\b"
    r"|<\|?(?:im_start|system)\|?>|\[/?inst\]"
)
_TURKISH: Final = str.maketrans("\u0130\u0131", "ii")  # pass for an i, which casefold does not make of them
# Any word that an order could be made of: labels are too short for the sentences above.
_STEERING = re.compile(rf"{_READER}|{_RULES}|{_DROP}|{_ORDER}|{_MUST}|[\d@]", re.IGNORECASE)
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]|\w+")  # some scripts do not space words
# Tag characters copy ASCII invisibly, variation selectors any byte. Newsletters pad their preheaders with other ones.
_SMUGGLED = re.compile("[\U000e0000-\U000e0fff\ufe00-\ufe0d]{4}")
_STYLE_NOISE = re.compile(r"<[^<>]{0,2000}+>|\{[^{}]{0,2000}+\}")


def reads_like_an_order(words: str) -> bool:
    """Addressed to a program that reads the message: to drop its rules, or to do something with the mailbox."""
    plain = " ".join(_STYLE_NOISE.sub(" ", clean_text(words[:_LOOKED_AT])).split())
    return _COMMANDS.search(_folded(plain)) is not None


def _folded(text: str) -> str:
    """For a search, which would take three times as long if it ignored the case itself."""
    return text.lower() if text.isascii() else text.translate(_TURKISH).casefold()


def warnings(texts: Sequence[HiddenText], shown: str) -> tuple[str, ...]:
    """What a reader of the shown text should know about what was removed from it. Usually nothing."""
    orders = [text for text in _within(texts, _LOOKED_AT) if reads_like_an_order(text.words)]
    if orders:
        place = "a comment" if all(text.kind == "comment" for text in orders) else "text that no reader sees"
        return (f"The message hides what reads like instructions for a program, in {place}. It was removed.",)
    if any(text.kind == "characters" and _SMUGGLED.search(text.words) for text in texts):
        return ("The message spells something in invisible characters. They were removed.",)
    unseen = _only_hidden([text.words for text in texts if text.kind == "text"], shown)
    if unseen > MUCH and 2 * unseen > len(shown):
        return (f"The message contains {unseen} characters of text that no reader sees. They were removed.",)
    return ()


def is_negligible(texts: Sequence[DoubtfulText]) -> bool:
    """Whether a message's doubtful text is no more than a button's label, as where a placeholder has left no colour."""
    words = clean_text(" ".join(text.words for text in texts)[:_LOOKED_AT])
    is_label = bool(texts) and all(text.is_label for text in texts) and len(_WORD.findall(words)) <= _LABEL
    return is_label and _STEERING.search(words) is None


def _within(texts: Sequence[HiddenText], most: int) -> Iterator[HiddenText]:
    """The first texts, up to that many characters in total."""
    for text in texts:
        if most <= 0:
            return
        most -= len(text.words)
        yield text


def _only_hidden(texts: Sequence[str], shown: str) -> int:
    """Characters of hidden words that are not among the shown ones: a version for phones repeats the same text. 0 where
    they cannot be many."""
    lowered = [text.lower() for text in texts]
    most = sum(map(len, lowered))
    if most <= MUCH or 2 * most <= len(shown):
        return 0  # too few to be reported, whatever is shown
    known = set(shown.lower().split())
    return sum(len(word) for text in lowered for word in set(text.split()) - known)
