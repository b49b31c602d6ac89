"""IMAP behind a mirror that answers wherever it can: each read first catches up, so nothing it says is old."""

from __future__ import annotations

from dataclasses import replace

from postroom.sync.answering.mirrored import MirrorLayer, mirrored, noticing_sends
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following.syncing import Syncing

from . import RigAccount, imap


class ThisRig(imap.ThisRig):
    async def make_account(self) -> RigAccount:
        account = await super().make_account()
        settings = account.settings.model_copy(update={"mirror": "full"})
        mirror = Mirror(mirror_path(self.folder, settings.name))

        async def catch_up() -> None:
            async with Syncing(mirror, account.mailbox, settings) as syncing:
                await syncing.once()

        await catch_up()
        self.layer = MirrorLayer(account.mailbox, mirror, settings, catch_up, max_age=0.0)
        self.mailbox = mirrored(account.mailbox, self.layer, "imap")
        assert account.transport is not None
        transport = noticing_sends(account.transport, mirror, "imap")
        return replace(account, settings=settings, mailbox=self.mailbox, transport=transport)
