"""The MCP door: one server, several dialects. A dialect is schemas, one service call each, and wording; no logic."""
