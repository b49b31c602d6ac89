"""Sentences that say no more than that a message is HTML and where it can be looked at.

Many senders write nothing else into the plain-text part. It differs from the HTML in every word, and means nothing.
"""

from __future__ import annotations

import re
from typing import Final

_SHORT: Final = 90  # words of a part that is nothing but such sentences
_SENTENCE_WORDS: Final = 40
_SENTENCE = re.compile(r"[^.!?。！？]++[.!?。！？]*+")
_BREAK = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w+")
# What a message is shown with, in the languages that most such sentences are written in.
_ABOUT_SHOWING = re.compile(
    r"\bhtml\b|browser|navegador|navigateur|nettleser|webbläsare|webloggare|przeglądar|prohlížeč|tarayıcı|selain"
    r"|\bбраузер|浏览器|瀏覽器|ブラウザ|브라우저"
    r"|\b(?:e-?)?mail[ -]?(?:client|program|reader|software|application|app\b|system)|\bpost(?:programm|fach)"
    r"|messagerie|\bclient\w* (?:de |di )?(?:correo|courriel|posta|e-?mail)|programa de (?:correo|e-?mail)"
    r"|e-postprogram|(?:klient|program)\w* poczt|почтов\w+ (?:программ|клиент)|邮件客户端|郵件軟體|メールソフト"
    r"|\b(?:view|read|see)\b[^.!?]{0,60}\b(?:online|web ?site|web ?page)\b|\bonline[ -]?version|\bweb[ -]?version"
    r"|version en ligne|versión en línea|versión web|versione online|versão (?:online|web)|wersj\w+ online"
    r"|online ansehen|\bplain[ -]text|texte brut|nur[ -]text",
    re.IGNORECASE,
)


def without_stub(text: str) -> str:
    """A short text without its sentences about showing it; a long one as it is. A sentence with a number in it stays:
    it may be about more."""
    if len(_WORD.findall(text)) > _SHORT:
        return text
    sentences = (sentence for block in _BREAK.split(text) for sentence in _SENTENCE.findall(block))
    return " ".join(sentence for sentence in sentences if not _is_about_showing(sentence))


def _is_about_showing(sentence: str) -> bool:
    is_short = len(_WORD.findall(sentence)) <= _SENTENCE_WORDS
    return is_short and not any(map(str.isdigit, sentence)) and _ABOUT_SHOWING.search(sentence) is not None
