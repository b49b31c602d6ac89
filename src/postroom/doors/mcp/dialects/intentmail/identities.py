"""Sender identities: listed in toolset `read`, created in toolset `identities`."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.intentmail import results, shapes
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

reading = Toolset("read")
making = Toolset("identities")


@reading.tool("List identities", returns=shapes.Identities, read_only=True, idempotent=True)
async def list_identities(gateway: Gateway) -> CallToolResult:
    """List sender identities/aliases"""
    from postroom.service.accounts import identities

    listed = [results.identity(view) for view in await identities.list_identities(gateway)]
    page: shapes.Identities = {
        "results": listed,
        "total_count": len(listed),
        "limit": len(listed),
        "offset": 0,
        "has_more": False,
    }
    return results.told(page)


@making.tool("Create alias", returns=shapes.Identity)
async def create_alias(
    gateway: Gateway,
    email: Annotated[str, Field(description="The new address")],
    name: Annotated[str, Field(description="Display name")] = "",
    signature: Annotated[str, Field(description="HTML")] = "",
) -> CallToolResult:
    """Create new email alias"""
    from postroom.service.accounts import identities

    view, _ = await identities.create_alias(gateway, email, name, signature)
    return results.told(results.identity(view))
