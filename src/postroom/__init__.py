"""Postroom: a mail gateway for AI agents. One set of email tools, any mailbox, one gate for everything that is sent."""

__version__ = "0.1.0"
