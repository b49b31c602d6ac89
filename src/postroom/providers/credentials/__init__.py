"""Tokens for mail services, from every source.

A provider asks for a token when it needs one and never keeps it. Where it comes from (the settings, a variable, a file,
the keyring, a program, an OAuth login) is decided once, from the account's settings.
"""
