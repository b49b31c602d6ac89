"""The interfaces: MCP for assistants, the command line and the web page for people. Doors use the service only."""
