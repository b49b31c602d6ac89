"""Logging in through a service's own page (OAuth 2.0), and keeping the login alive.

`authorizing` and `device` get the first tokens, with a person; `source.OAuthTokens` renews them, without one. What a
service gives is written down before it is used. Knows no mail protocol: what a kind of account needs is a table of
scopes.
"""
