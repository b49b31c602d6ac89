"""The REST mail API over embedded mailboxes: a real server in a thread that can be told to fail."""

from tests.peers.rest.service import RestPeer, User

__all__ = ["RestPeer", "User"]
