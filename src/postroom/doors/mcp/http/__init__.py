"""MCP over HTTP: the application, and limits on connections, time and origin."""
