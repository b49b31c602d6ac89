"""A searchable table of mails: full text, threads, the query language as SQL. Knows no provider.

The local mailbox stands on it, and so does the mirror of every other one. Row ids follow the date, so that the newest
matches of any search are found without sorting.
"""
