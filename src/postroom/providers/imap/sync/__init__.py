"""What a mirror asks of an IMAP server: which folders changed, what changed in one, whole messages in bulk."""
