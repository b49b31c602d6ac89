"""msgraph-sdk, Microsoft's own client, pointed at a fake."""

from __future__ import annotations

import importlib.util
from typing import Any

from tests.peers.daemon import require
from tests.peers.graph import FakeGraph


def official_client(graph: FakeGraph, token: str) -> Any:
    """The service client, or a skip (under CI a failure) with the reason."""
    if importlib.util.find_spec("msgraph") is None:
        require("msgraph-sdk is not installed; run make official-clients")
    from kiota_abstractions.authentication import AccessTokenProvider, AllowedHostsValidator
    from kiota_abstractions.authentication import BaseBearerTokenAuthenticationProvider as Bearer
    from msgraph import GraphRequestAdapter, GraphServiceClient

    class Tokens(AccessTokenProvider):  # type: ignore[misc]
        async def get_authorization_token(self, uri: str, additional_authentication_context: Any = None) -> str:
            return token

        def get_allowed_hosts_validator(self) -> Any:
            return AllowedHostsValidator(["127.0.0.1"])

    adapter = GraphRequestAdapter(Bearer(Tokens()))
    adapter.base_url = graph.base_url
    return GraphServiceClient(request_adapter=adapter)


# Every operation of Graph that Postroom's provider asks for; tests/unit/providers/graph fails for one that is missing.
USED = frozenset(
    {
        *("user.get", "sendMail", "batch", "upload", "mailboxSettings.get", "mailboxSettings.update"),
        *(f"messages.{name}" for name in ("list", "create", "delta", "get", "update", "content", "move")),
        *(f"messages.{name}" for name in ("permanentDelete", "reply", "replyAll", "forward", "send")),
        *(f"attachments.{name}" for name in ("list", "create", "upload", "get", "content")),
        *(f"folders.{name}" for name in ("list", "create", "get", "update", "permanentDelete")),
        *(f"folders.{name}" for name in ("children", "createChild")),
        *(f"rules.{name}" for name in ("list", "create", "update", "delete")),
        *(f"categories.{name}" for name in ("list", "create", "delete")),
    }
)
