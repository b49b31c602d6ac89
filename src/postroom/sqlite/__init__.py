"""SQLite files that several processes work on: connections, transactions, and errors in plain words."""
