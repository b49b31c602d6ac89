"""The ways in: MCP for assistants, the command line and the web page for people. Doors know the service only."""
