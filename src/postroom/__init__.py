"""Postroom: a mail gateway for AI agents. One set of email tools, any mailbox, one gate for whatever leaves."""

__version__ = "0.1.0"
