"""The file of a mirror, what stands beside it (lock, spool, room on the disk), and facts about the whole of it:
whose it is, how much is kept, how far it is. Knows nothing of single messages but their bytes."""
