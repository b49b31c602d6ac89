"""What an attachment says: its text, where it has any, read from bytes that a stranger chose.

Every format is bounded in bytes, entries, elements and characters; whatever may take long runs in a process of its own
that is stopped at a deadline. `reading` is the entry point. Nothing here executes, fetches or writes anything.
"""
