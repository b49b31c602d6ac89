"""The lines that mail programs put above what they quote, in the languages people write in."""

from __future__ import annotations

import re
from typing import Final

_VERBS: Final = (
    "wrote|writes|schrieb|a écrit|escribió|escribio|ha scritto|scrisse|schreef|escreveu|napisał(?:\\(a\\))?|skrev"
    "|napsal(?:\\(a\\))?|napsala?|пишет|написал(?:\\(а\\)|а)?|пише|kirjoitti|yazdı|írta|έγραψε|写道|寫道|님이 작성|wrote"
)
_OPENINGS: Final = "on|am|le|el|il|op|em|no dia|w dniu|dnia|den|dne|në|на|в|în|pada|vào|在|于"

# "On Mon, 1 Jan 2024 at 10:00, Bob <bob@example.com> wrote:", "Am ... schrieb Bob <...>:", "Bob wrote:"
_WROTE = re.compile(
    rf"(?:(?:{_OPENINGS})\b.{{4,300}}(?:{_VERBS})\b?.{{0,200}}|.{{0,300}}\s?(?:{_VERBS}))\s?[:：]\Z", re.IGNORECASE
)
# "2024年1月1日(月) 10:00 Bob <bob@example.com>:", "2024-01-01 10:00 GMT+01:00 Bob <bob@example.com>:"
_DATED = re.compile(
    r"\d{4}(?:[-/.]\d\d?[-/.]\d\d?|\s?年\s?\d\d?\s?月\s?\d\d?\s?日).{0,200}(?:<?\S+@\S+>?|写道|寫道)\s?[:：]?\Z"
)

_ORIGINAL: Final = (
    "original message|original appointment|ursprüngliche nachricht|originalnachricht|message d['’]origine|message original"
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
_FROM: Final = frozenset("from von de van da od från fra 发件人 寄件者 差出人 от".split())


def is_separator(line: str) -> bool:
    """``-----Original Message-----``: all that follows is history."""
    return len(line) < 200 and "-" in line[:3] + line[-3:] + "--" and bool(_SEPARATOR.match(line.strip()))


def is_forward(line: str) -> bool:
    """What follows was sent on purpose: it is not history."""
    return len(line) < 300 and bool(_FORWARD.match(line.strip()))


def is_attribution(text: str) -> bool:
    """``On ... wrote:``, given as one line."""
    text = " ".join(text[:600].split())
    return 6 < len(text) < 500 and text[-1] in ":：>" and bool(_WROTE.match(text) or _DATED.match(text))


def is_header_block(lines: list[str]) -> bool:
    """Outlook's ``From: / Sent: / To: / Subject:`` at the head of these lines (blank ones left out)."""
    names = [found[1].lower() for line in lines[:6] if (found := _FIELD.match(line[:60]))]
    return len(names) >= 3 and names[0] in _FROM and bool(_FIELD.match(lines[0][:60]))
