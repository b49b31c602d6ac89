"""Query helpers that providers share: bounds for what a server can express, a judge for what it cannot, and search
languages used by more than one protocol. Knows no provider and opens no connection.
"""
