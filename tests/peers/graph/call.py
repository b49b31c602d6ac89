"""One call of an operation, after it was let in: whose mailbox, which parameters, which body, which preferences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.peers.graph.errors import not_found
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import Operation
from tests.peers.graph.stored import StoredMessage
from tests.peers.oauth.tokens import AccessToken
from tests.peers.web.messages import Request

if TYPE_CHECKING:
    from tests.peers.graph.service import FakeGraph


@dataclass(frozen=True, slots=True)
class Call:
    graph: FakeGraph
    mailbox: Mailbox
    token: AccessToken
    operation: Operation
    path: dict[str, str]
    request: Request
    body: dict[str, Any]

    @property
    def params(self) -> dict[str, str]:
        return dict(self.request.params)

    def text(self, name: str, default: str = "") -> str:
        return self.params.get(name, default)

    def names(self, name: str) -> list[str]:
        """A list of properties, as in ``$select``."""
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    @property
    def immutable(self) -> bool:
        return re.search(r'IdType\s*=\s*"ImmutableId"', self.request.header("prefer"), re.IGNORECASE) is not None

    @property
    def as_text(self) -> bool:
        return 'outlook.body-content-type="text"' in self.request.header("prefer")

    @property
    def page_size(self) -> int | None:
        found = re.search(r"odata\.maxpagesize\s*=\s*(\d+)", self.request.header("prefer"))
        return int(found[1]) if found else None

    @property
    def message(self) -> StoredMessage:
        found = self.mailbox.message(self.path["id"])
        if "in_folder" in self.path and self.mailbox.folder(self.path["in_folder"]).id != found.folder:
            raise not_found()
        return found

    def argument(self, name: str) -> Any:
        """A parameter of an action; their names are written in any case."""
        return next((value for given, value in self.body.items() if given.lower() == name.lower()), None)

    @property
    def here(self) -> str:
        """The address of this request, without its parameters."""
        return f"{self.graph.url}{self.request.path}"
