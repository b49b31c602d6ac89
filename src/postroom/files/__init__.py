"""File system access that needs care: private files, files that somebody else named, database files.

Every package that stores or reads files builds on this one. It knows nothing of mail, settings or SQL; callers decide
what a path means.
"""
