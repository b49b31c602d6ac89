"""A fake Microsoft Graph (mail) on loopback HTTP, with real state and with the service's own refusals.

    with FakeGraph.started() as graph:
        alice = graph.user("alice@contoso.example", "Alice")
        graph.deliver(alice, raw_bytes)                           # into the inbox, where rules run
        token = graph.token(alice, scopes={"Mail.Read"})          # a bearer token; all scopes without `scopes`
        ...                                                       # point a client at graph.base_url
        assert graph.count("messages.get") == 1

**State.** `graph.user` makes a mailbox (``within("inbox")``, ``folders``, ``categories``, ``rules``, ``delegates``,
``is_enabled``). Mail that one user sends to another arrives there; a recipient of the same domain who does not exist
comes back as a bounce, one in `graph.unresolvable` is refused. `graph.sent` has every mail that was accepted. Ids
change on a move unless immutable ones are asked for, and contain ``/``, ``+`` and ``=``. `graph.forget_delta` makes
every delta token unknown; `graph.rewrites_mime` gives MIME as Exchange writes it anew, `graph.replaces_message_ids`
does so with Message-IDs.

**Faults** (`tests.peers.web.faults`), for the next requests of a method and an operation (``messages.send``), a path
with wildcards, or ``*``; an operation of a batch is named by itself, the batch is ``batch``, a piece of an upload
``upload``:

    graph.fail_next("POST", "messages.send", status=503, after_effect=True)   # it was sent; the answer denies it
    graph.fail_next("GET", "*", status=429, retry_after=7, times=3)
    graph.cut_next("POST", "messages.send", after_effect=True)                # the answer is lost

**Counting.** `graph.requests` has every request, those in a batch too (``in_batch``); `graph.forget()` starts anew.
More than `graph.at_once` requests at a time are refused with 429, and those over 4 MB with 413.

**Faithfulness.** Where Microsoft's OpenAPI document and metadata are at hand (`spec`), every request is held against
them (what does not fit is refused) and so is every answer (one that does not fit fails the test when the fake stops).
msgraph-sdk drives it in tests/unit/peers. A search or filter at whose meaning the service would guess is refused.
Not here: subscriptions, mail tips, focused inbox overrides, open extensions, MIME replies, the time it takes Exchange
to index what is searched.
"""

from tests.peers.graph.service import FakeGraph

__all__ = ["FakeGraph"]
