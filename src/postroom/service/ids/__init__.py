"""Which id a message, draft or thread has in a result, and what such an id stands for when it comes back.

One scheme per server, chosen by the dialect: short handles, the provider's own ids, or numbers within a folder. The
rest of the service knows refs and asks `Gateway.ids`; whatever the scheme, what is kept (journal, outbox) are handles.
"""

from __future__ import annotations

from postroom.service.gateway import IdScheme
from postroom.settings.dialects import IdForm


def scheme_for(form: IdForm) -> IdScheme:
    """Only the chosen one is loaded."""
    if form == "handle":
        from postroom.service.ids.handles import BY_HANDLE

        return BY_HANDLE
    if form == "provider":
        from postroom.service.ids.provider_ids import ByProviderId

        return ByProviderId()
    from postroom.service.ids.numbers import ByNumber

    return ByNumber()
