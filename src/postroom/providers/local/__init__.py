"""The embedded mailbox: one SQLite file per account, messages delivered between the accounts of one gateway.

The reference implementation of the provider interface, not a mock: everything works without a network. Reads and
writes are plain functions over a connection, one module per thing; `provider` runs them in worker threads.
"""
