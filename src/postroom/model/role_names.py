"""What people and mail programs call the folders that have a role, in their languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from postroom.model.folder import ALIASES, Folder, Role
from postroom.model.modified_utf7 import decoded_name
from postroom.model.skeleton import skeleton

_NAMES = {
    Role.SENT: """
        sent|sent items|sent messages|sent mail|sent-mail|gesendet|gesendete objekte|gesendete elemente|envoyés|
        éléments envoyés|messages envoyés|enviados|elementos enviados|correo enviado|posta inviata|inviati|
        itens enviados|verzonden|verzonden items|skickat|skickade objekt|sendt|sendte elementer|lähetetyt|
        wysłane|elementy wysłane|odeslané|odeslaná pošta|elküldött|отправленные|надіслані|απεσταλμένα|
        gönderilmiş öğeler|gönderilenler|
        送信済み|送信済みアイテム|送信済みトレイ|送信済みメール|已发送|已发送邮件|寄件備份|보낸편지함|보낸 편지함|
        المرسلة|العناصر المرسلة|البريد المرسل|נשלח""",
    Role.DRAFTS: """
        drafts|draft|entwürfe|brouillons|borradores|bozze|rascunhos|concepten|utkast|kladder|kladd|luonnokset|
        wersje robocze|szkice|koncepty|piszkozatok|черновики|чернетки|πρόχειρα|taslaklar|下書き|草稿|草稿箱|草稿夹|
        임시보관함|임시 보관함|المسودات|טיוטות""",
    Role.TRASH: """
        trash|deleted|deleted items|deleted messages|bin|papierkorb|gelöscht|gelöschte objekte|gelöschte elemente|
        corbeille|éléments supprimés|papelera|elementos eliminados|cestino|posta eliminata|lixeira|itens excluídos|
        prullenbak|verwijderde items|papperskorgen|papirkurv|slettet post|roskakori|kosz|elementy usunięte|koš|
        lomtár|корзина|удаленные|кошик|κάδος|çöp kutusu|silinmiş öğeler|
        ゴミ箱|ごみ箱|削除済みアイテム|已删除|已删除邮件|垃圾桶|
        휴지통|المهملات|אשפה""",
    Role.JUNK: """
        junk|spam|junk e-mail|junk email|junk mail|bulk mail|unerwünscht|werbung|courrier indésirable|indésirables|
        correo no deseado|posta indesiderata|lixo eletrônico|ongewenste e-mail|skräppost|søppelpost|uønsket post|
        roskaposti|wiadomości-śmieci|nevyžádaná pošta|levélszemét|спам|нежелательная почта|ανεπιθύμητα|gereksiz|
        迷惑メール|垃圾邮件|垃圾郵件|스팸|스팸메일함|البريد المزعج|דואר זבל""",
    Role.ARCHIVE: """
        archive|archives|archiv|archivo|archivio|arquivo|archief|arkiv|arkisto|archiwum|archív|архив|архів|αρχείο|
        arşiv|アーカイブ|归档|存档|封存|보관함|الأرشيف|ארכיון""",
}
_BY_NAME = {name.strip(): role for role, names in _NAMES.items() for name in names.replace("\n", "").split("|")}

# An archive of one's own makes no sender known and hides nothing: that name is allowed.
_FREE = frozenset({Role.ARCHIVE})
_NO_LETTER = re.compile(r"[\W_]+")
_LEVELS = re.compile(r"[/.]")  # also the separators of other servers


def role_by_name(name: str) -> Role | None:
    """By the last part of the path."""
    return _BY_NAME.get(name.rpartition("/")[2].casefold())


def read_as(name: str) -> Role | None:
    """The role that a person or a server could read into this name: by any part of it, in any script or spelling."""
    return next((role for level in _LEVELS.split(decoded_name(name)) if (role := _LOOKALIKES.get(_bare(level)))), None)


def role_to_come(folder: Folder, folders: Iterable[Folder]) -> Role | None:
    """Its role, or the one its name would give it if another folder were gone: where no server says otherwise."""
    named = role_by_name(folder.name)
    told = {other.role for other in folders if not other.is_guess}
    return folder.role or (named if named not in told else None)


def _bare(level: str) -> str:
    """Only letters and digits, as they look to a reader."""
    return _NO_LETTER.sub("", skeleton(level.casefold()))


_LOOKALIKES = {
    _bare(name): role
    for name, role in [*((role.value, role) for role in Role), *ALIASES.items(), *_BY_NAME.items()]
    if role not in _FREE
}
