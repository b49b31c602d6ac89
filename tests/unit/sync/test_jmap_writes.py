"""What is moved through Postroom over JMAP is shown where the server shows it, also where it is in several folders.

The next move takes it out of that one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from tests.contract.mails import mail
from tests.peers.cyrus import PASSWORD, Cyrus
from tests.peers.raw_jmap import NewMail, RawJmap

from postroom.model.folder import Role
from postroom.providers.context import ProviderContext
from postroom.providers.jmap.provider import JmapMailbox
from postroom.settings import JmapAccount
from postroom.sync.answering.mirrored import MirrorLayer, mirrored
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("comes_first", [True, False])
async def test_a_message_in_several_folders_is_shown_where_the_server_shows_it(
    cyrus: Cyrus, tmp_path: Path, comes_first: bool
) -> None:
    user = await anyio.to_thread.run_sync(cyrus.new_user, "several")
    wire = RawJmap(cyrus.url, user, PASSWORD)
    (ref,) = await anyio.to_thread.run_sync(wire.add, [NewMail(mail("one"), "inbox", [], None)])
    account = JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD, mirror="full")
    server = JmapMailbox(account, ProviderContext(tmp_path, (account,), proxies=False))
    mirror = Mirror(tmp_path / "mirrors" / "mine.db")
    try:
        own = await server.create_folder("Own")
        places = {folder.role: folder.ref for folder in await server.folders() if folder.role}
        async with Syncing(mirror, server, account) as syncing:
            await syncing.once()
        box: Any = mirrored(server, MirrorLayer(server, mirror, account), "jmap")
        wanted = [own.ref, places[Role.INBOX]]
        await box.put_into([ref], wanted if comes_first else wanted[::-1])
        assert await box.envelopes([ref]) == await server.envelopes([ref])
        for role in (Role.ARCHIVE, Role.INBOX, Role.TRASH):
            await box.move([ref], places[role])
            assert await box.envelopes([ref]) == await server.envelopes([ref])
    finally:
        await server.close()
