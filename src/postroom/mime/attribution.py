"""The lines that mail programs put above what they quote, in the languages people write in."""

from __future__ import annotations

import re
from typing import Final

_VERB = re.compile(
    r"wrote|writes|schrieb|a écrit|escribió|ha scritto|scrisse|schreef|escreveu|napisał(?:\(a\))?|skrev"
    r"|napsala?(?:\(a\))?|пишет|написала?(?:\(а\))?|пише|kirjoitti|yazdı|írta|έγραψε|写道|寫道|님이 작성",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:on|am|le|el|il|op|em|no dia|w dniu|dnia|den|dne|në|на|в|în|pada|vào)\s|在|于|\d{4}[-/.年]", re.IGNORECASE
)
# "2024年1月1日(月) 10:00 Bob <bob@example.com>:", "2024-01-01 10:00 GMT+01:00 Bob <bob@example.com>:"
_DATED = re.compile(r"\d{4}(?:[-/.]\d\d?[-/.]\d\d?|\s?年\s?\d\d?\s?月\s?\d\d?\s?日)")

_ORIGINAL: Final = (
    "original message|original appointment|ursprüngliche nachricht|originalnachricht|message d['’]origine"
    "|message original"
    "|mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|wiadomość oryginalna"
    "|původní zpráva|oprindelig meddelelse|ursprungligt meddelande|opprinnelig melding|исходное сообщение"
    "|原始邮件|原始郵件|元のメッセージ|reply message"
)
_SEPARATOR = re.compile(rf"[-_*=\s>]{{0,80}}(?:{_ORIGINAL})[-_*=:\s]{{0,80}}\Z", re.IGNORECASE)
_FORWARD = re.compile(
    r"[-_*=\s>]{0,80}(?:begin forwarded message|forwarded message|weitergeleitete nachricht|anfang der weitergeleiteten"
    r"|message (?:transféré|réexpédié)|mensaje reenviado|messaggio inoltrato|mensagem encaminhada|doorgestuurd bericht"
    r"|転送されたメッセージ|转发的邮件|пересылаемое сообщение)",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"[*_\s>]{0,8}(from|von|de|van|da|od|från|fra|发件人|寄件者|差出人|от|sent|gesendet|envoyé|enviado|verzonden|inviato|wysłano"
    r"|skickat|sendt|发送时间|送信日時|отправлено|date|datum|fecha|data|to|an|à|para|aan|do|till|til|a|收件人|宛先|кому|subject"
    r"|betreff|objet|asunto|onderwerp|oggetto|assunto|temat|ämne|emne|主题|主旨|件名|тема|cc|kopie|copie)"
    r"[*_]{0,3}\s?[:：]",
    re.IGNORECASE,
)
_FROM: Final = frozenset({"from", "von", "de", "van", "da", "od", "från", "fra", "发件人", "寄件者", "差出人", "от"})
_SUBJECT = re.compile(
    r"[*_\s>]{0,8}(?:subject|betreff|objet|asunto|onderwerp|oggetto|assunto|temat|ämne|emne|主题|主旨|件名|тема)[*_]{0,3}\s?[:：]",
    re.IGNORECASE,
)


def is_separator(line: str) -> bool:
    """``-----Original Message-----``: all that follows is history."""
    return len(line) < 200 and "--" in line and bool(_SEPARATOR.match(line.strip()))


def is_forward(line: str) -> bool:
    """What follows was sent on purpose: it is not history."""
    return len(line) < 300 and bool(_FORWARD.match(line.strip()))


def is_attribution(text: str, *, strict: bool = False) -> bool:
    """``On ... wrote:`` in one of its languages. `strict` asks for a date or an address too: poets also wrote."""
    text = text[:600].rstrip()
    if not text or text[-1] not in ":：":
        return False
    text = " ".join(text.split())
    if not 6 < len(text) < 500:
        return False
    if strict and not any(char.isdigit() or char == "@" for char in text):
        return False
    verbs = list(_VERB.finditer(text))
    if not verbs:
        return "@" in text and bool(_DATED.match(text))
    return bool(_OPENING.match(text)) or (not strict and not text[verbs[-1].end() :].strip(" :："))


def is_header_block(lines: list[str]) -> bool:
    """Outlook's ``From: / Sent: / To: / Subject:`` at the head of these lines (blank ones left out)."""
    first = _FIELD.match(lines[0][:60])
    if first is None or first[1].lower() not in _FROM:
        return False
    fields = sum(1 for line in lines[:7] if _FIELD.match(line[:60]))
    return fields >= 3 and any(_SUBJECT.match(line[:60]) for line in lines[:7])
