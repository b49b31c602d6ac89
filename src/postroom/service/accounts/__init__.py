"""Accounts and their folders: listing, logging in, setting up, importing into, watching."""
