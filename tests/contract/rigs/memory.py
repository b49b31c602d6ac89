"""The smallest provider: what the suite asks of it is what the seam requires, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from tests.peers.memory_mailbox import Contents, LabelMailbox

from postroom.providers.context import ProviderContext
from postroom.providers.registry import wrap
from postroom.settings import RestAccount

from . import Rig, RigAccount, SeedMail

_ROLES = {"inbox": "INBOX", "sent": "Sent", "trash": "Trash", "junk": "Junk", "archive": "Archive"}
_NUMBERS = count()


class ThisRig(Rig):
    async def make_account(self) -> RigAccount:
        address = f"me{next(_NUMBERS)}@demo.example"
        settings = RestAccount(name="mine", address=address, base_url="http://127.0.0.1:1")
        context = ProviderContext(self.folder, (settings,))
        bare = LabelMailbox(settings, context)
        self.contents: Contents = bare.contents
        mailbox = wrap(bare, settings, context)
        return RigAccount(
            settings=settings,
            mailbox=mailbox,  # type: ignore[arg-type]
            transport=None,
            capabilities=await mailbox.connect(),
            address=address,
            second_address="you@demo.example",
            refused_address="nobody@elsewhere.example",
            missing_ref="m424242",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return [self._add(mail) for mail in mails]

    def _add(self, mail: SeedMail) -> str:
        folder = _ROLES.get(mail.folder, mail.folder)
        self.contents.make_folder(folder)
        fields = {flag: True for flag in mail.flags if flag in ("starred", "answered", "forwarded", "draft")}
        if mail.date is not None and b"\nDate:" not in mail.raw:
            fields["date"] = mail.date  # type: ignore[assignment]
        return self.contents.add(mail.raw, folder, unread="read" not in mail.flags, **fields)

    async def remove(self, refs: Sequence[str]) -> None:
        for ref in refs:
            self.contents.remove(ref)
