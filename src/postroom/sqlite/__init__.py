"""SQLite files shared by several processes: connections, transactions, and readable errors."""
