"""The MCP door: one server, several dialects. A dialect is schemas, a service call per tool, and wording; no logic."""
