"""The mirror: one index file per account, kept true to the server, so that finding and reading mail needs no round
trip.

`following` fills a mirror and follows the server's changes, in a process of its own; `answering` is a mailbox whose
methods are answered from it. Both work on its `tables`, in its `file`. A mirror holds nothing that the server does not
have: it may be deleted at any time. May not send, and may not name a concrete provider.
"""
