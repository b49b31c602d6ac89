"""The methods, each from its arguments to its response. A `Refused` is the method's error."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.peers.jmap.state import Sent, State

Arguments = dict[str, Any]
MOST = 2  # objects in one call
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Refused(Exception):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def _listed(rows: dict[str, dict[str, Any]], arguments: Arguments, state: str) -> dict[str, Any]:
    ids = arguments.get("ids")
    wanted = list(rows) if ids is None else ids
    return {
        "state": state,
        "list": [rows[key] for key in wanted if key in rows],
        "notFound": [key for key in wanted if key not in rows],
    }


def mailbox_get(state: State, arguments: Arguments) -> dict[str, Any]:
    wanted = arguments.get("ids")
    if not state.lists_every_mailbox and len(state.mailboxes if wanted is None else wanted) > MOST:
        raise Refused("requestTooLarge")
    return _listed(state.mailboxes, arguments, "1")


def email_get(state: State, arguments: Arguments) -> dict[str, Any]:
    if len(arguments["ids"]) > MOST:
        raise Refused("requestTooLarge")
    return _listed(state.emails, arguments, str(state.version))


def mailbox_query(state: State, arguments: Arguments) -> dict[str, Any]:
    """Four at most."""
    position = arguments.get("position", 0)
    return {"ids": list(state.mailboxes)[position : position + 4], "position": position, "queryState": "1"}


def email_query(state: State, arguments: Arguments) -> dict[str, Any]:
    """By folder only, newest first, three at most."""
    place = (arguments.get("filter") or {}).get("inMailbox")
    ids = [key for key, email in reversed(state.emails.items()) if place is None or place in email["mailboxIds"]]
    position, limit = arguments.get("position", 0), min(arguments.get("limit") or 100, 3)
    return {"ids": ids[position : position + limit], "total": len(ids), "position": position, "queryState": "1"}


def email_changes(state: State, arguments: Arguments) -> dict[str, Any]:
    """Of at most two versions at once."""
    since = arguments["sinceState"]
    if not since.isdecimal() or not state.forgotten <= int(since) <= state.version:
        raise Refused("cannotCalculateChanges")
    later = [entry for entry in state.log if entry[0] > int(since)]
    now = later[:2]
    lists: dict[str, list[str]] = {"created": [], "updated": [], "destroyed": []}
    for _, what, key in now if state.repeats_itself else {entry[2]: entry for entry in now}.values():
        if key not in lists[what] and key.startswith("E"):
            lists[what].append(key)
    state_then = str(now[-1][0] if len(later) > len(now) else state.version)
    return {"oldState": since, "newState": state_then, "hasMoreChanges": len(later) > len(now), **lists}


def thread_get(state: State, arguments: Arguments) -> dict[str, Any]:
    """All messages are one thread."""
    threads = {"T1": {"id": "T1", "emailIds": list(state.emails)}}
    return _listed(threads, arguments, "1")


def email_import(state: State, arguments: Arguments) -> dict[str, Any]:
    created = {}
    for key, wanted in arguments["emails"].items():
        email = state.add_email(wanted["blobId"], wanted["mailboxIds"], wanted["keywords"])
        created[key] = {name: email[name] for name in ("id", "blobId", "threadId", "size")}
    return {"created": created, "notCreated": None}


def email_set(state: State, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("ifInState") not in (None, str(state.version)):
        raise Refused("stateMismatch")
    if len(arguments.get("update") or ()) > MOST:
        raise Refused("requestTooLarge")
    updated, refused, destroyed = {}, {}, []
    for key, change in (arguments.get("update") or {}).items():
        if key in state.emails:
            state.patch(state.emails[key], change)
            updated[key] = None
        else:
            refused[key] = {"type": "notFound"}
    for key in arguments.get("destroy") or ():
        if key in state.emails:
            state.destroy(key)
            destroyed.append(key)
        else:
            refused[key] = {"type": "notFound"}
    return {"updated": updated, "notUpdated": refused, "destroyed": destroyed, "notDestroyed": refused}


def identity_get(state: State, arguments: Arguments) -> dict[str, Any]:
    return _listed(state.identities, arguments, "1")


def identity_set(state: State, arguments: Arguments) -> dict[str, Any]:
    """Addresses of other domains are not this account's to send as."""
    created, refused = {}, {}
    for key, wanted in (arguments.get("create") or {}).items():
        if not wanted["email"].endswith("@example.test"):
            refused[key] = {"type": "forbiddenFrom"}
            continue
        made = {"id": state.new_id("I"), **wanted}
        state.identities[made["id"]] = made
        created[key] = {"id": made["id"]}
    return {"created": created, "notCreated": refused}


def submission_get(state: State, arguments: Arguments) -> dict[str, Any]:
    return _listed(state.submissions, arguments, str(state.submitted))


def submission_query(state: State, arguments: Arguments) -> dict[str, Any]:
    wanted = set(arguments["filter"]["emailIds"])
    return {"ids": [key for key, one in state.submissions.items() if one["emailId"] in wanted], "queryState": "1"}


def submission_set(state: State, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("ifInState") not in (None, str(state.submitted)):
        raise Refused("stateMismatch")
    created = {}
    for key, wanted in arguments["create"].items():
        made = {"id": state.new_id("S"), "undoStatus": "final", **wanted}
        recipients = tuple(one["email"] for one in wanted["envelope"]["rcptTo"])
        state.sent.append(Sent(state.blobs[state.emails[wanted["emailId"]]["blobId"]], recipients))
        state.submissions[made["id"]] = made
        state.submitted += 1
        created[key] = {"id": made["id"], "undoStatus": "final"}
        for reference, change in (arguments.get("onSuccessUpdateEmail") or {}).items():
            if reference == f"#{key}" and state.files_what_it_sends:
                state.patch(state.emails[wanted["emailId"]], change)
    return {"created": created, "notCreated": None}


def vacation_get(state: State, arguments: Arguments) -> dict[str, Any]:
    return _listed({"singleton": state.vacation}, arguments, str(state.version))


def vacation_set(state: State, arguments: Arguments) -> dict[str, Any]:
    """Dates are of UTC, and no field is unknown (RFC 8621, 8)."""
    (wanted,) = (arguments.get("update") or {}).values()
    dates = [wanted[name] for name in ("fromDate", "toDate") if wanted.get(name)]
    if set(wanted) - set(state.vacation) or not all(_UTC.fullmatch(date) for date in dates):
        return {"updated": None, "notUpdated": {"singleton": {"type": "invalidProperties"}}}
    state.patch(state.vacation, wanted)
    return {"updated": {"singleton": None}, "notUpdated": None}


def script_get(state: State, arguments: Arguments) -> dict[str, Any]:
    return _listed(state.scripts, arguments, _as_they_are(state.scripts))


def _as_they_are(scripts: dict[str, dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(scripts).encode()).hexdigest()


def script_set(state: State, arguments: Arguments) -> dict[str, Any]:
    if arguments.get("ifInState") not in (None, _as_they_are(state.scripts)):
        raise Refused("stateMismatch")
    created, refused = {}, {}
    for key, wanted in (arguments.get("create") or {}).items():
        if not _is_script(state, wanted["blobId"]):
            refused[key] = {"type": "invalidSieve"}
            continue
        made = {"id": state.new_id("R"), "isActive": False, **wanted}
        state.scripts[made["id"]] = made
        created[key] = {"id": made["id"]}
    for key, change in (arguments.get("update") or {}).items():
        state.scripts[key].update(change)
    if "onSuccessActivateScript" in arguments:
        for key, script in state.scripts.items():
            script["isActive"] = key == arguments["onSuccessActivateScript"]
    if arguments.get("onSuccessDeactivateScript") is True:
        for script in state.scripts.values():
            script["isActive"] = False
    return {"created": created, "notCreated": refused, "updated": {}, "notUpdated": None}


def script_validate(state: State, arguments: Arguments) -> dict[str, Any]:
    return {"error": None if _is_script(state, arguments["blobId"]) else {"type": "invalidSieve"}}


def _is_script(state: State, blob: str) -> bool:
    return state.blobs[blob].startswith(b"require ")


METHODS: dict[str, Callable[[State, Arguments], dict[str, Any]]] = {
    "Mailbox/get": mailbox_get,
    "Mailbox/query": mailbox_query,
    "Email/get": email_get,
    "Email/query": email_query,
    "Email/changes": email_changes,
    "Thread/get": thread_get,
    "Email/import": email_import,
    "Email/set": email_set,
    "Identity/get": identity_get,
    "Identity/set": identity_set,
    "EmailSubmission/get": submission_get,
    "EmailSubmission/query": submission_query,
    "EmailSubmission/set": submission_set,
    "VacationResponse/get": vacation_get,
    "VacationResponse/set": vacation_set,
    "SieveScript/get": script_get,
    "SieveScript/set": script_set,
    "SieveScript/validate": script_validate,
}
