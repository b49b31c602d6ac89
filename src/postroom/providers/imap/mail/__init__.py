"""Messages in one folder: fetching, flags, moves, drafts."""
