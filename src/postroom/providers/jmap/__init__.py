"""A mailbox over JMAP (RFC 8620, RFC 8621): Fastmail, Stalwart, Cyrus.

`client` knows the session and exchanges requests, `wire` has JMAP's names, `convert` turns its objects into the model.
"""
