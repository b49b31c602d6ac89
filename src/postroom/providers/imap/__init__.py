"""IMAP for reading and organising, SMTP for sending, ManageSieve for scripts.

`client` is one connection, `pool` manages a few of them, and everything in between is a plain function of one
connection that runs in a worker thread. Names of commands and response codes stay in `client` and `wire`.
Nothing here ever sends EXPUNGE without naming the UIDs, or fetches a body without PEEK.
"""
