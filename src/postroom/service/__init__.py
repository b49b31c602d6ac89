"""One module per thing a person does: read, search, organise, draft, send.

Each function takes the Gateway first, decides, calls a provider or the store, and returns a view. Refs and
untrusted raw text end here; handles and cleaned text go up. Nothing here knows MCP, HTTP or a terminal.
"""
