"""One connection to an IMAP server, and the pool of them."""
