"""A searchable table of messages: full text, threads, the query language as SQL. Knows no provider.

The local mailbox is built on it, and so is the mirror of every other one. Row ids follow the date, so that the newest
matches of any search are found without sorting.
"""
