"""A second client that does random things to a JMAP mailbox, and a look at everything the server then has."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from tests.peers.raw_jmap import NewMail, RawJmap

_KEYWORDS = ("$seen", "$flagged", "$answered", "$forwarded", "blue", "red", "a.b/c", "!#&'+-", "$label1")
_NAMES = ("Projects", "Aurora", "Büro & Co", "日本語", "a/b")


@dataclass
class JmapClient:
    """Actions are drawn from `chance`; each leaves the mailbox in some state that a person could have made."""

    wire: RawJmap
    chance: random.Random
    keys: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    raws: list[bytes] = field(default_factory=list)

    def act(self, count: int) -> list[str]:
        actions = (
            self.append, self.append, self.append, self.mark, self.mark, self.move, self.move, self.copy, self.destroy,
            self.append_again, self.create, self.rename, self.nest, self.remove_mailbox, self.exchange_names,
            self.make_again,
        )  # fmt: skip
        chosen = [self.chance.choice(actions) for _ in range(count)]
        for action in chosen:
            action()
        return [action.__name__ for action in chosen]

    def append(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            number = next(self.keys)
            heads = [
                f"Subject: Letter {number}",
                "From: Ada <ada@friends.example>",
                f"Message-ID: <{number}@s.example>",
            ]
            if number > 3 and self.chance.random() < 0.4:
                heads.append(f"In-Reply-To: <{self.chance.randint(1, number - 1)}@s.example>")
            self.raws.append("\r\n".join([*heads, "", f"The unique{number}word is here.", ""]).encode())
            self._import(self.raws[-1])

    def append_again(self) -> None:
        """Cyrus names an email by its content: one that was destroyed has the same id again."""
        if self.raws:
            self._import(self.chance.choice(self.raws))

    def _import(self, raw: bytes) -> None:
        keywords = [name for name in _KEYWORDS if self.chance.random() < 0.25]
        email = self.wire._email(NewMail(raw, "inbox", keywords, None))
        email["mailboxIds"] = {self._mailbox(): True}
        self.wire.call("Email/import", {"emails": {"n": email}})

    def mark(self) -> None:
        keyword = self.chance.choice(_KEYWORDS)
        value = self.chance.choice([True, None])
        self._update({ref: {f"keywords/{keyword}": value} for ref in self._some()})

    def move(self) -> None:
        target = self._mailbox()
        self._update({ref: {"mailboxIds": {target: True}} for ref in self._some()})

    def copy(self) -> None:
        target = self._mailbox()
        self._update({ref: {f"mailboxIds/{target}": True} for ref in self._some()})

    def destroy(self) -> None:
        self.wire.call("Email/set", {"destroy": self._some()})

    def create(self) -> None:
        self._set({"create": {"n": {"name": self._name(), "parentId": None}}})

    def rename(self) -> None:
        if own := self._own():
            self._set({"update": {self.chance.choice(own)["id"]: {"name": self._name()}}})

    def nest(self) -> None:
        if len(own := self._own()) > 1:
            inner, outer = self.chance.sample(own, 2)
            self._set({"update": {inner["id"]: {"parentId": self.chance.choice([outer["id"], None])}}})

    def exchange_names(self) -> None:
        """Of two mailboxes on one level."""
        own = [row for row in self._own() if row["parentId"] is None]
        if len(own) > 1:
            one, other = self.chance.sample(own, 2)
            self._set({"update": {one["id"]: {"name": "on its way"}}})
            self._set({"update": {other["id"]: {"name": one["name"]}}})
            self._set({"update": {one["id"]: {"name": other["name"]}}})

    def make_again(self) -> None:
        """A mailbox of the same name, with other emails."""
        own = [row for row in self._own() if row["parentId"] is None]
        if own:
            gone = self.chance.choice(own)
            self._set({"destroy": [gone["id"]], "onDestroyRemoveEmails": True})
            self._set({"create": {"n": {"name": gone["name"], "parentId": None}}})
            self.append()

    def remove_mailbox(self) -> None:
        if own := self._own():
            self._set({"destroy": [self.chance.choice(own)["id"]], "onDestroyRemoveEmails": True})

    def everything(self) -> dict[str, tuple[set[str], set[str], str, str]]:
        """By id: the names of its mailboxes, its keywords, its subject, its thread."""
        rows = {row["id"]: row for row in self._mailboxes()}
        ids = self.wire.call("Email/query", {"limit": 5000})["ids"]
        properties = ["mailboxIds", "keywords", "subject", "threadId"]
        found = self.wire.call("Email/get", {"ids": ids, "properties": properties})["list"] if ids else []
        return {
            one["id"]: (
                {_path(rows, key) for key in one["mailboxIds"]},
                set(one["keywords"]),
                one["subject"],
                one["threadId"],
            )
            for one in found
        }

    def names(self) -> set[str]:
        rows = {row["id"]: row for row in self._mailboxes()}
        return {_path(rows, key) for key in rows}

    def _mailboxes(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.wire.call("Mailbox/get", {"ids": None})["list"]
        return rows

    def _own(self) -> list[dict[str, Any]]:
        return [row for row in self._mailboxes() if row["role"] is None]

    def _mailbox(self) -> str:
        rows = self._mailboxes()
        inbox = [row for row in rows if row["role"] == "inbox"]
        return str(self.chance.choice([*rows, *inbox * 3])["id"])

    def _name(self) -> str:
        return f"{self.chance.choice(_NAMES)}{self.chance.randint(1, 5)}"

    def _some(self) -> list[str]:
        ids = self.wire.call("Email/query", {"limit": 5000})["ids"]
        return self.chance.sample(ids, min(len(ids), self.chance.randint(1, 4)))

    def _update(self, changes: dict[str, Any]) -> None:
        self.wire.call("Email/set", {"update": changes})

    def _set(self, arguments: dict[str, Any]) -> None:
        """What the server refuses, such as a name that is taken, is not done."""
        self.wire.call("Mailbox/set", arguments)


def _path(rows: dict[str, dict[str, Any]], key: str) -> str:
    row = rows[key]
    above = f"{_path(rows, row['parentId'])}/" if row["parentId"] else ""
    return above + str(row["name"])
