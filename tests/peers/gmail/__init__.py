"""A fake Gmail API on loopback HTTP, with real state and with Google's own refusals.

    with FakeGmail.started() as gmail:
        alice = gmail.user("alice@gmail.example", "Alice")
        gmail.deliver(alice, raw_bytes, labels={"INBOX", "UNREAD"})
        token = gmail.token(alice, scopes={READONLY})             # a bearer token; all scopes without `scopes`
        ...                                                       # point a client at gmail.url
        assert gmail.count("messages.get") == 1

**State.** `gmail.user` makes a mailbox (``messages``, ``labelled("SENT")``, ``threads()``, ``drafts``, ``labels``,
``history``, ``filters``, ``send_as``). Mail that one user sends to another arrives there; `gmail.sent` has every mail
that was accepted, with all its recipients and with those that are nobody's here (``external``). `gmail.add_send_as`
gives a user an alias, `gmail.forget_history` makes every history id too old, `gmail.forget_attachment_ids` every
attachment id; `gmail.replaces_message_ids` does what Gmail sometimes does with a Message-ID, and
``joins_by_thread_id_alone`` of a mailbox what it was seen to do with threads.

**Faults** (`tests.peers.web.faults`), for the next requests of a method and an operation (``drafts.send``), a path with
wildcards, or ``*``; an operation of a batch is named by itself, the batch is ``batch``:

    gmail.fail_next("POST", "drafts.send", status=503, after_effect=True)     # it was sent; the answer denies it
    gmail.fail_next("GET", "*", status=429, retry_after=7, times=3)
    gmail.fail_next("GET", "messages.list", status=403, reason="dailyLimitExceeded")
    gmail.cut_next("POST", "messages.send", after_effect=True)                # the answer is lost
    gmail.truncate_next / gmail.html_next / gmail.answer_next(..., body=b"{") # broken answers
    hold = gmail.hold_next("GET", "messages.get"); hold.reached.wait(); hold.release()

**Counting.** `gmail.requests` has every request (method, path, params, operation, units, bytes both ways, status,
user), those in a batch too (``in_batch``); `gmail.forget()` starts anew. `gmail.quota` has the limits, which a test may
lower, and the prices; `gmail.clock` is the time, injectable.

**Faithfulness.** Where Google's discovery document is at hand (`discovery`), every request is held against it (what
does not fit is refused as Google does) and so is every answer (one that does not fit fails the test when the fake
stops). google-api-python-client drives every method in tests/unit/peers. A search at whose meaning Gmail would guess is
refused with 400.
Not here: watch and stop, delegates, forwarding addresses, POP and IMAP settings, S/MIME, client-side encryption.
"""

from tests.peers.gmail.service import FakeGmail

__all__ = ["FakeGmail"]
