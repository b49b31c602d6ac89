"""A fake authorisation server. See `server` for what it does and how a test uses it."""
