"""Refusals of an authorisation server."""

from __future__ import annotations


class OAuthError(Exception):
    """`error` is the word of the standard; `description` what the provider adds."""

    def __init__(self, error: str, description: str = "", status: int = 400) -> None:
        super().__init__(error)
        self.error, self.description, self.status = error, description, status


class PageError(Exception):
    """Shown to the person in the browser: there is no client it would be safe to go back to."""

    def __init__(self, error: str, status: int = 400) -> None:
        super().__init__(error)
        self.error, self.status = error, status


def invalid_grant(description: str) -> OAuthError:
    return OAuthError("invalid_grant", description)
