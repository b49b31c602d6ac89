"""The lines that mail programs put above a quote, in many languages.

Such a line is folded with the quote below it, so it must be nothing but a date, a name and an address: the author's
own sentence that ends in "wrote:" is not one.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from postroom.mime.quotes.earlier import words_of

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
_ADDRESS = re.compile(r"<?[^\s<>@()]{1,100}@[^\s<>@()]{1,200}>?")
# What dates consist of: the beginnings of months and days, and the small words between them.
_DATE_WORD = re.compile(
    r"(?:jan|feb|fév|fev|mar|mär|mrt|maa|apr|abr|avr|mai|may|maj|mei|mag|jun|juin|jui|giu|jul|lug|aug|ago|aoû|sep|set|oct"
    r"|okt|ott|out|nov|dec|dez|déc|dic|ene|gen|mon|tue|wed|thu|fri|sat|sun|son|die|mit|don|fre|sam|lun|mer|mié|jeu|jue"
    r"|ven|vie|sáb|sab|dim|dom|seg|ter|qua|qui|sex|tir|ons|tor|lør|søn|янв|фев|мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек)"
    r"\w{0,7}\Z|(?:mo|di|mi|do|fr|sa|so|ma|wo|vr|za|zo|пн|вт|ср|чт|пт|сб|вс)\Z"
)
_LITTLE = re.compile(
    r"(?:on|at|am|pm|um|uhr|le|el|la|las|los|il|lo|a|à|o|os|às|de|del|der|den|dem|des|dia|em|en|op|om|kl|klo|ore|alle|h|m"
    r"|giorno|via|of|by|the|von|van|behalf|gmt|utc|cet|cest|est|edt|pst|pdt|mez|mesz|w|dniu|dnia|dne|v|в|г|на"
    r"|[年月日火水木金土時时分午上下前後在于周星期의에])\Z"
)
_MAX_STRANGE: Final = {True: 3, False: 10}  # words of neither a date nor a name: if names are known, and if not

_ORIGINAL: Final = (
    "original message|original appointment|ursprüngliche nachricht|originalnachricht|message d['’]origine"
    "|message original"
    "|mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|wiadomość oryginalna"
    "|původní zpráva|oprindelig meddelelse|ursprungligt meddelande|opprinnelig melding|исходное сообщение"
    "|原始邮件|原始郵件|元のメッセージ|reply message"
)
_SEPARATOR = re.compile(rf"[-_*=\s>]{{0,80}}(?:{_ORIGINAL})[-_*=:\s]{{0,80}}\Z", re.IGNORECASE)
_FORWARD = re.compile(
    r"[-_*=\s>]{0,80}(?:begin forwarded message|forwarded (?:message|by\b)|weitergeleitete (?:nachricht|e-?mail)"
    r"|anfang der weitergeleiteten|(?:début du )?(?:message|courriel) (?:transféré|réexpédié)"
    r"|(?:inicio del )?mensaje reenviado|(?:inizio )?messaggio inoltrato"
    r"|(?:início da )?mensagem (?:encaminhada|reencaminhada)|(?:begin )?doorgestuurd bericht"
    r"|vidarebefordrat meddelande|videresendt (?:melding|meddelelse|besked)|(?:początek )?przekazan|přeposlaná zpráva"
    r"|転送された?メッセージ|转发(?:的)?邮件|轉寄(?:的)?郵件|전달된 메시지"
    r"|(?:начало )?пере(?:сылаемо|адресованно)\w* сообщени)",
    re.IGNORECASE,
)

_FIELDS: Final = {
    "from": "from|von|de|van|da|od|från|fra|发件人|寄件者|差出人|от",
    "sent": "sent|gesendet|envoyé|enviado(?: el)?|enviada(?: em)?|verzonden|inviato|wysłano|skickat|sendt"
    "|发送时间|送信日時|отправлено|date|datum|fecha|data",
    "to": "to|an|à|para|aan|do|till|til|a|收件人|宛先|кому",
    "cc": "cc|kopie|copie",
    "subject": "subject|betreff|objet|asunto|onderwerp|oggetto|assunto|temat|ämne|emne|主题|主旨|件名|тема",
}
_FIELD = re.compile(
    r"[*_\s>]{0,8}(?:" + "|".join(f"(?P<{role}>{words})" for role, words in _FIELDS.items()) + r")[*_]{0,3}\s?[:：]",
    re.IGNORECASE,
)
_EXACT: Final = (["from", "sent", "to", "subject"], ["from", "sent", "to", "cc", "subject"])
_NEXT_ADDRESS = re.compile("[;,]")


def is_separator(line: str) -> bool:
    """``-----Original Message-----``: what follows may be history."""
    return len(line) < 200 and "--" in line and bool(_SEPARATOR.match(line.strip()))


def is_forward(line: str) -> bool:
    """What follows was forwarded on purpose: it is not history."""
    return len(line) < 300 and bool(_FORWARD.match(line.strip()))


def is_attribution(text: str, names: Set[str] = frozenset()) -> bool:
    """``On ... wrote:`` in one of the languages and nothing more. `names` are words of names it may contain."""
    text = " ".join(text[:600].split())
    if not 6 < len(text) < 400 or text[-1] not in ":：":
        return False
    verbs = list(_VERB.finditer(text))
    if not verbs and not ("@" in text and _DATED.match(text)):
        return False
    return _is_bare(text, names) and (opens_attribution(text) or "@" in text or _DATED.match(text) is not None)


def may_attribute(text: str) -> bool:
    return "@" in text or _VERB.search(text) is not None


def opens_attribution(text: str) -> bool:
    return bool(_OPENING.match(text))


def _is_bare(text: str, names: Set[str]) -> bool:
    """A date and a name, and no room for a sentence."""
    rest = _VERB.sub(" ", text)
    if not names:
        rest = _ADDRESS.sub(" ", rest)
    return _strange(rest, names) <= _MAX_STRANGE[bool(names)]


def _strange(text: str, names: Set[str]) -> int:
    """How many words are part of neither a date nor one of these names."""
    return sum(1 for word in words_of(text) if word not in names and not _is_of_a_date(word))


def _is_of_a_date(word: str) -> bool:
    return bool((word.isdecimal() and len(word) <= 4) or _DATE_WORD.match(word) or _LITTLE.match(word))


def field_of(line: str) -> str:
    """Which header field a line begins with: from, sent, to, cc, subject; empty if none."""
    start = line[:60]
    found = _FIELD.match(start) if ":" in start or "：" in start else None
    return (found.lastgroup or "") if found else ""


def is_header_block(lines: list[str]) -> bool:
    """``From: ... Subject:`` at the start of these lines (ignoring blank ones)."""
    if field_of(lines[0]) != "from":
        return False
    fields = [field_of(line) for line in lines[:7]]
    return sum(map(bool, fields)) >= 3 and "subject" in fields


def is_reply_block(lines: list[str]) -> bool:
    """Exactly the lines that Outlook writes above the message it replies to, in their order: forms have others."""
    fields = [field_of(line) for line in lines if field_of(line) or not is_more_addresses(line)]
    return any(fields[: len(exact)] == exact for exact in _EXACT)


def is_plain_field(line: str, subject: Set[str] | None, names: Set[str]) -> bool:
    """Whether a header line has no more than such lines have. `subject`: the words of the message's own subject."""
    field = field_of(line)
    value = _FIELD.sub("", line[:4_000], count=1)
    if field == "subject":
        return subject is None or subject >= set(words_of(value))
    return bool(field) and _are_plain(value, names)


def is_more_addresses(line: str, names: Set[str] = frozenset()) -> bool:
    """A line that continues the addresses of the one above."""
    return len(line) < 300 and "@" in line and _are_plain(line, names)


def _are_plain(addresses: str, names: Set[str]) -> bool:
    most = _MAX_STRANGE[bool(names)]
    if names:
        return _strange(addresses, names) <= most
    return all(_strange(one, names) <= most for one in _NEXT_ADDRESS.split(addresses))
