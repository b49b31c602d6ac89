"""A fake authorisation server. See `server` for what it does and how a test uses it.

Nothing is imported here: the fake services need `tokens` alone, and the server needs the packages that sign.
"""
