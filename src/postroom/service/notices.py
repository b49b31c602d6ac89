"""What everyone who asks for anything should hear: accounts that cannot send, because their login was refused, and
accounts whose server cannot be reached, so that what is shown of them is not new."""

from __future__ import annotations

from postroom.model.errors import PostroomError
from postroom.service.gateway import Gateway


def notices(gateway: Gateway) -> tuple[str, ...]:
    return (*_pauses(gateway), *_outages(gateway))


def _outages(gateway: Gateway) -> tuple[str, ...]:
    return tuple(
        f"The mail server of account {name} has been out of reach since {gateway.shown_time(since, 'minutes')}. "
        "Messages are shown as the mirror has them; nothing can be changed or sent there until it is back."
        for name, since in gateway.accounts.outages().items()
    )


def _pauses(gateway: Gateway) -> tuple[str, ...]:
    """One sentence per paused account. A look that no lock can hold up, so it needs no thread of its own."""
    try:
        pauses = gateway.store.pauses.all(waits=False)
    except PostroomError:
        return ()  # the result itself matters more than its notices
    return tuple(
        f"Account {pause.account} has been unable to send since "
        f"{gateway.shown_time(pause.since, 'minutes')}; its messages wait in the outbox. "
        f"Tell the user; `postroom doctor` checks the login and resumes sending. {pause.reason}"
        for pause in pauses
        if gateway.accounts.may_see(pause.account)
    )
