"""What a mirror keeps of folders, messages and labels, and how that changes. Each function is part of its caller's
transaction; none talks to a server."""
