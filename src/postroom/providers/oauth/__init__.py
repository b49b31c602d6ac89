"""Logging in through a service's own page (OAuth 2.0), and keeping the login alive.

`authorizing` and `device` get the first tokens with the user; `source.OAuthTokens` renews them without it. Tokens
are stored before they are used. Knows no mail protocol: what a kind of account needs is a table of scopes.
"""
