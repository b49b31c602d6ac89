"""The HTTP server as an OAuth 2.1 resource server: access tokens (JWT) of one authorisation server.

`keys` has the issuer's public keys, `verifying` decides whether a token is valid, `granting` what its bearer may do,
and `authorization` puts the three together for `Callers`. A token is looked at here and nowhere else: it is never
logged, kept or passed on.
"""
