"""A small JMAP server for what Cyrus does not offer (RFC 9661, new identities, events, vacation replies), and for
faults of every kind.

It knows just enough of RFC 8620 and RFC 8621 for a mailbox that reads a listing, keeps drafts and sends.
"""

from tests.peers.jmap.server import ACCOUNT, ADDRESS, TOKEN, FakeJmap

__all__ = ["ACCOUNT", "ADDRESS", "TOKEN", "FakeJmap"]
