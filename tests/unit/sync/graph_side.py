"""A second client of a mailbox at Microsoft that does more than most people do."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.unit.sync.cloud import Cloud, GraphSide

_KEYS = count()
_ODD = (
    b"\r\nA message of an odd unique%dword",
    b"Subject: \r\nFrom: \r\n\r\nWithout anything unique%dword",
    b"Date: never\r\nTo: undisclosed-recipients:;\r\n\r\nWithout a sender unique%dword",
    b"From: x@y.example\r\nContent-Type: text/html\r\n\r\n<p>An odd unique%dword",
)
ACTIONS = (
    "deliver", "deliver", "reply", "odd", "mark", "flag", "move", "move", "there_and_back", "remove", "draft",
    "new_folder", "rename_folder", "nest_folder", "swap_folders",
)  # fmt: skip
RARE = ("remove_folder", "forget", "hide_folder", "fill_hidden", "same_name_again")


class BusySide(GraphSide):
    def deliver(self, chance: random.Random) -> None:
        number = next(_KEYS)
        raw = mail(f"m{number}", text=f"The unique{number}word", days_ago=chance.random() * 30)
        self.peer.deliver(self.user, raw, self._folder(chance))

    def reply(self, chance: random.Random) -> None:
        if found := [one for one in self.user.messages if one.content.message_id]:
            number, parent = next(_KEYS), chance.choice(found).content.message_id
            key = parent.removeprefix("<").removesuffix("@seed.example>")
            raw = mail(f"r{number}", text=f"A unique{number}word", answers=[key], days_ago=chance.random() * 30)
            self.peer.deliver(self.user, raw, self._folder(chance))

    def odd(self, chance: random.Random) -> None:
        raw = chance.choice(_ODD) % next(_KEYS)
        self.peer.deliver(self.user, raw, self._folder(chance), when=chance.choice([0.0, 1.0, 1_700_000_000.0, 4e9]))

    def flag(self, chance: random.Random) -> None:
        if self.user.messages:
            message = chance.choice(self.user.messages)
            message.flag = chance.choice(["flagged", "notFlagged", "complete"])
            message.properties = {"Integer 0x1081": chance.choice(["102", "103", "104", "0"])}
            self.user.touched(message)

    def there_and_back(self, chance: random.Random) -> None:
        if found := [one for one in self.user.messages if not one.is_draft]:
            message = chance.choice(found)
            home = message.folder
            self.user.move(message, self._folder(chance))
            self.user.move(message, home)

    def nest_folder(self, chance: random.Random) -> None:
        if len(own := self._own()) > 1:
            inner, outer = chance.sample(own, 2)
            above = outer.id
            while above and above != inner.id:
                above = self.user.folders[above].parent
            if not above:
                inner.parent = outer.id

    def swap_folders(self, chance: random.Random) -> None:
        if len(own := self._own()) > 1:
            one, other = chance.sample(own, 2)
            one.name, other.name = other.name, one.name

    def hide_folder(self, chance: random.Random) -> None:
        if own := self._own():
            folder = chance.choice(own)
            folder.is_hidden = not folder.is_hidden

    def fill_hidden(self, chance: random.Random) -> None:
        hidden = [one for one in self._own() if one.is_hidden]
        folder = hidden[0] if hidden else self.user.add_folder(f"Hidden {next(_KEYS)}", hidden=True)
        if found := [one for one in self.user.messages if not one.is_draft]:
            self.user.move(chance.choice(found), folder.id)

    def same_name_again(self, chance: random.Random) -> None:
        """A folder that is removed, and another that is made in its place at once."""
        if own := [one for one in self._own() if not self.user.children(one.id)]:
            folder = chance.choice(own)
            inside = self.user.within(folder.id)
            for message in inside[: chance.randint(0, len(inside))]:
                self.user.move(message, "archive")
            self.user.remove_folder(folder)
            new = self.user.add_folder(folder.name, folder.parent if folder.parent in self.user.folders else "")
            raw = mail(f"s{(number := next(_KEYS))}", text=f"The unique{number}word")
            self.user.add(Content(raw), new.id)

    def listed_names(self) -> set[str]:
        """The paths of all folders that are shown."""
        paths = {folder.id: self._path(folder) for folder in self.user.folders.values() if folder.parent}
        return {path for path in paths.values() if path}

    def _path(self, folder: Any) -> str:
        if folder.is_hidden:
            return ""
        above = self.user.folders[folder.parent]
        if not above.parent:
            return str(folder.name)
        return f"{path}/{folder.name}" if (path := self._path(above)) else ""


def act(it: Cloud, chance: random.Random) -> str:
    """One thing that the second client does; what it was."""
    action = chance.choice(ACTIONS if chance.random() < 0.9 else RARE)
    with it.side.peer.lock:
        getattr(it.side, action)(chance)
    return action
