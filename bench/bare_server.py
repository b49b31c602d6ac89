"""The SDK alone with ten trivial tools: the floor that a cold start is compared with."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("bare", log_level="WARNING")


def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


for number in range(10):
    server.add_tool(echo, name=f"echo_{number}")

if __name__ == "__main__":
    server.run()
