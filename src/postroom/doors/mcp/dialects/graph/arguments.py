"""The arguments of the contract, with its limits and its descriptions word for word."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from postroom.model.address import check_email
from postroom.model.errors import InvalidRequest
from postroom.service.gateway import Gateway

MAX_ADDRESSES, MAX_SUBJECT, MAX_TEXT = 500, 255, 100_000
MAX_FILE_BYTES = 4 * 2**20 - 1
_MAX_BASE64 = MAX_FILE_BYTES // 3 * 4  # of so many bytes exactly


def _email(text: str) -> str:
    try:
        return check_email(text)
    except InvalidRequest:
        raise PydanticCustomError("email", "Ungültige E-Mail-Adresse") from None


Email = Annotated[str, AfterValidator(_email), Field(json_schema_extra={"format": "email"})]
To = Annotated[
    list[Email],
    Field(min_length=1, max_length=MAX_ADDRESSES, description="Empfänger-E-Mail-Adressen (mindestens 1, max 500)"),
]
Cc = Annotated[list[Email], Field(max_length=MAX_ADDRESSES, description="CC-Empfänger")]
Bcc = Annotated[list[Email], Field(max_length=MAX_ADDRESSES, description="BCC-Empfänger")]
Subject = Annotated[str, Field(min_length=1, max_length=MAX_SUBJECT, description="Betreff der E-Mail")]
Body = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TEXT, description="E-Mail-Body (Plain-Text oder HTML je nach body_type)"),
]
BodyType = Annotated[Literal["text", "html"], Field(description="Body-Format: 'text' für Plain-Text, 'html' für HTML")]
Importance = Annotated[Literal["low", "normal", "high"], Field(description="Wichtigkeit der E-Mail")]
SaveToSentItems = Annotated[
    bool, Field(strict=True, description="E-Mail in 'Gesendete Elemente' speichern (default: true)")
]
AnsweredId = Annotated[str, Field(min_length=1, description="ID der Original-E-Mail, auf die geantwortet wird")]
ReplyText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TEXT,
        description="Antwort-Text (wird als Kommentar über die Original-Mail gesetzt)",
    ),
]
ReplyAll = Annotated[
    bool, Field(strict=True, description="Wenn true: Reply-All an alle Empfänger. Wenn false: nur an den Absender.")
]
ForwardedId = Annotated[str, Field(min_length=1, description="ID der E-Mail, die weitergeleitet werden soll")]
ForwardTo = Annotated[
    list[Email],
    Field(min_length=1, max_length=MAX_ADDRESSES, description="Empfänger der Weiterleitung (mindestens 1)"),
]
ForwardText = Annotated[
    str,
    Field(
        max_length=MAX_TEXT,
        description="Optionaler Kommentar, der über die weitergeleitete E-Mail gesetzt wird",
    ),
]
# What the contract adds to everything that writes.
UserId = Annotated[
    str, Field(description="E-Mail-Adresse des Benutzers, in dessen Postfach gearbeitet wird; ohne Angabe das eigene")
]
IdempotencyKey = Annotated[
    str,
    Field(description="Empfohlen: eindeutiger Schlüssel; derselbe Aufruf mit demselben Schlüssel sendet nur einmal"),
]
Confirm = Annotated[bool, Field(strict=True, description="false: nur Vorschau. true: tatsächlich senden")]

MessageId = Annotated[str, Field(min_length=1, description="ID der E-Mail aus list_emails oder search_emails")]


class Attachment(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=255, description="Dateiname")]
    content_base64: Annotated[str, Field(min_length=1, max_length=_MAX_BASE64, description="Inhalt, Base64-kodiert")]
    content_type: Annotated[str, Field(description="Zum Beispiel application/pdf; sonst nach dem Dateinamen")] = ""


Attachments = Annotated[list[Attachment], Field(max_length=100, description="Anhänge (Base64, je unter 4 MB)")]


def account_of(gateway: Gateway, user_id: str) -> str:
    """Always one mailbox, and without a user the default account, which Graph calls `me`: an id that was shown for
    another user is not answered from that user's mailbox unless it is named."""
    return gateway.accounts.of_user(user_id) if user_id and user_id != "me" else gateway.accounts.named(None).name
