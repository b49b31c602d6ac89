"""What transports share to switch a vacation reply on, which only the gate asks for, and to tell whether it is on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroom.model.errors import PostroomError
from postroom.model.message import Body
from postroom.model.native import NativeAction, Recipients
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.model.vacation import EVERYONE, Vacation, vacation_of
from postroom.providers.http.unclear import submit_outcome

REACHED = Recipients(to=(EVERYONE,))
_NOT_SEEN = (
    "The vacation reply is not on as it was ordered. Check it at the provider, and order it again if it is wanted."
)


def is_vacation(action: NativeAction | None) -> bool:
    return action is not None and action.kind == "vacation"


async def switch_on(request: SubmitRequest, start: Callable[[Vacation], Awaitable[None]]) -> SubmitOutcome:
    assert request.native is not None
    try:
        await start(vacation_of(request.native))
    except PostroomError as error:
        return submit_outcome(error)
    return _accepted(request)


def look(request: SubmitRequest, found: Vacation) -> SubmitOutcome:
    """Evidence after a lost response. What is not as ordered is left to a person, who may have changed it meanwhile."""
    assert request.native is not None
    if is_on_as(vacation_of(request.native), found):
        return _accepted(request)
    return SubmitOutcome("unknown", reason=_NOT_SEEN)


def is_on_as(wanted: Vacation, found: Vacation) -> bool:
    is_on = found.enabled and (found.start, found.end) == (wanted.start, wanted.end)
    return is_on and found.subject == wanted.subject and _words(found) == _words(wanted)


def _words(vacation: Vacation) -> list[str]:
    """A provider may keep the text as HTML of its own."""
    from postroom.mime.render import render

    return render(Body(vacation.text, vacation.html), fmt="words", keep_quoted=True).text.split()


def _accepted(request: SubmitRequest) -> SubmitOutcome:
    return SubmitOutcome("accepted", accepted=request.envelope.recipients)
