"""Toolset `identities`: new addresses to send from. Those there are belong to toolset `read`."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, named
from postroom.doors.mcp.dialects.postroom.results import answer, plain
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("identities")


@toolset.tool("Create alias", returns=shapes.Identity)
async def create_alias(
    gateway: Gateway,
    email: Annotated[str, Field(description="The new address")],
    name: Annotated[str, Field(description="Display name")] = "",
    signature: Annotated[str, Field(description="HTML")] = "",
    account: AccountName = "",
) -> CallToolResult:
    """Create another address to send from, where the provider can. Confirm with the user first."""
    from postroom.service.accounts import identities

    view, usable = await identities.create_alias(gateway, email, name, signature, account=named(account))
    wait = "" if usable else " The provider verifies it first; list_identities shows it afterwards."
    return answer(plain(view), f"Created {view.email} in account {view.account}.{wait}")
