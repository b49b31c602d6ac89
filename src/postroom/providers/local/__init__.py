"""The embedded mailbox: one SQLite file per account, mail delivered between the accounts of one gateway.

The reference implementation of the provider seam, not a mock: everything works, no network is needed. Verbs that read
and write are plain functions over a connection, one module per thing; `provider` runs them in worker threads.
"""
