"""Layers around any provider: read_only, retry, limit, log. `wear` applies them in one place."""
