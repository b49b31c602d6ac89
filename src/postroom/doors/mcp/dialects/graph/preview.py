"""A message about to be sent, as the contract wants it previewed: whom it reaches, its subject, how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from postroom.service.views import Preview

SHOWN = 200  # characters of the body
_TITLES = {
    "send_email": "Vorschau: E-Mail senden",
    "reply_email": "Vorschau: E-Mail beantworten",
    "forward_email": "Vorschau: E-Mail weiterleiten",
}

_BY_PROVIDER = {
    "send": "Der Anbieter setzt diese E-Mail aus diesem Text selbst zusammen.",
    "reply": "Der Anbieter setzt diese Antwort selbst zusammen, mit dem Original unter diesem Text.",
    "reply_all": "Der Anbieter setzt diese Antwort selbst zusammen: Sie geht an alle oben Genannten, das "
    "Original steht unter diesem Text.",
    "forward": "Der Anbieter leitet das Original mit seinen Anhängen selbst weiter, unter diesem Text.",
}
_DIFFERENT = "Text- und HTML-Fassung haben nicht denselben Wortlaut. Die meisten Empfänger sehen die HTML-Fassung."
_HIDDEN = "Die HTML-Fassung enthält Text, den Empfänger nicht sehen würden; im Quelltext steht alles."
_RESTYLED = (
    "Die HTML-Fassung enthält Formatierungen oder Felder, die Empfängern anderen Text zeigen können; im Quelltext "
    "nachsehen."
)

Original = TypedDict("Original", {"subject": str, "from": str, "hasAttachments": NotRequired[bool]})


class PreviewShape(TypedDict):
    to: list[str]
    cc: NotRequired[list[str]]
    bcc: NotRequired[list[str]]
    subject: str
    body: str
    bodyChars: int
    importance: NotRequired[str]
    attachments: NotRequired[list[str]]
    saveToSentItems: bool
    original: NotRequired[Original]
    notes: NotRequired[list[str]]


def preview_shape(preview: Preview, tool: str) -> PreviewShape:
    shape: PreviewShape = {
        "to": list(preview.to),
        "subject": preview.subject,
        "body": beginning(preview.body_excerpt),
        "bodyChars": preview.body_chars,
        "saveToSentItems": preview.copy_in_sent,
    }
    if preview.cc:
        shape["cc"] = list(preview.cc)
    if preview.bcc:
        shape["bcc"] = list(preview.bcc)
    if preview.importance:
        shape["importance"] = preview.importance
    if preview.attachments:
        shape["attachments"] = list(preview.attachments)
    if preview.notes:
        shape["notes"] = list(map(_note, preview.notes))
    if preview.original_subject or preview.original_sender:
        shape["original"] = {"subject": preview.original_subject, "from": preview.original_sender}
        if tool == "forward_email":
            shape["original"]["hasAttachments"] = has_attachments(preview)
    return shape


def preview_lines(preview: Preview, tool: str) -> list[str]:
    """The same for all three tools; each value on a line of its own kind."""
    rows = [
        ("An", ", ".join(preview.to)),
        ("CC", ", ".join(preview.cc)),
        ("BCC", ", ".join(preview.bcc)),
        ("Betreff", preview.subject),
        ("Wichtigkeit", preview.importance),
        ("Anhänge", ", ".join(preview.attachments) if tool != "forward_email" else ""),
        ("Links führen zu", ", ".join(preview.link_hosts)),
        ("Gesendete Elemente", "" if preview.copy_in_sent else "keine Kopie"),
        ("Hinweis", " ".join(map(_note, preview.notes))),
    ]
    shown = [f"{name}: {value}" for name, value in rows if value]
    return [_TITLES[tool], *_original(preview, tool), *shown, *_body(preview)]


def _note(note: str) -> str:
    from postroom.service.sending import letter

    if note.startswith(letter.HIDDEN.partition("{")[0]):
        return _HIDDEN
    ours = {letter.BY_PROVIDER[kind]: text for kind, text in _BY_PROVIDER.items()}
    return {**ours, letter.DIFFERENT: _DIFFERENT, letter.RESTYLED: _RESTYLED}.get(note, note)


def beginning(text: str) -> str:
    """No mark for a hidden character is cut in two."""
    head = text[:SHOWN]
    return head[: head.rfind("⟨")] if len(text) > SHOWN and head.rfind("⟨") > head.rfind("⟩") else head


def has_attachments(preview: Preview) -> bool:
    """Of the original that a forward takes along: with it, or as files where the provider hands out no originals."""
    return bool(preview.original_attachments or (preview.attachments and not preview.original_date))


def _original(preview: Preview, tool: str) -> list[str]:
    if tool == "reply_email":
        return [f"Antwort auf: {preview.original_subject} (von {preview.original_sender})"]
    if tool == "forward_email":
        files = "ja" if has_attachments(preview) else "nein"
        original = f"{preview.original_subject} (von {preview.original_sender})"
        return [f"Weiterleitung von: {original} an: {', '.join(preview.to)}. Anhänge: {files}."]
    return []


def _body(preview: Preview) -> list[str]:
    """Behind bars, so that no line of it passes for one of ours."""
    text = beginning(preview.body_excerpt)
    more = f" (erste {SHOWN} von {preview.body_chars} Zeichen)" if preview.body_chars > SHOWN else ""
    return [f"Text{more}:", *(f"| {line}" for line in text.split("\n"))] if text else []
