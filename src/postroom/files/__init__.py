"""The file system, where it takes care: files for their owner's eyes, files that somebody else named, database files.

Below everything that keeps or reads files. Knows nothing of mail, settings or SQL; what a path means is its callers'
business.
"""
