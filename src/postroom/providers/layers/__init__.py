"""Coats any provider can wear: read_only, retry, limit, log. `wear` puts them on in one visible place."""
