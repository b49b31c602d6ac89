"""The judge as a table: every gate, every fact that could change its mind."""

from __future__ import annotations

import pytest

from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.vacation import EVERYONE
from postroom.safety.judge import Allow, Ask, Deny, Facts, NeedsHuman, findings, judge, policy_denial, strangers
from postroom.safety.policy import Gate, Policy, tightest

ALICE, BOB, EVE = Address("alice@example.com"), Address("bob@example.com"), Address("eve@evil.example")
DRAFT = Draft(ALICE, to=(BOB,), subject="Hi", text="words")
KNOWN = frozenset({BOB.key})
YES, NO = {"confirm": True}, {"confirm": False}

TABLE = [
    # gate, facts, what is still needed (None: allowed)
    (Gate.CONFIRM, NO, Ask.PREVIEW),
    (Gate.CONFIRM, YES, None),
    (Gate.PREVIEW, NO, Ask.PREVIEW),
    (Gate.PREVIEW, YES, Ask.PREVIEW),
    (Gate.PREVIEW, YES | {"previewed": True}, None),
    (Gate.PREVIEW, NO | {"previewed": True}, Ask.PREVIEW),
    (Gate.ELICIT, NO | {"can_elicit": True}, Ask.PREVIEW),
    (Gate.ELICIT, YES | {"can_elicit": True}, Ask.ELICIT),
    (Gate.ELICIT, YES | {"can_elicit": True, "answer": "accepted"}, None),
    (Gate.ELICIT, YES | {"previewed": True}, Ask.APPROVAL),
    (Gate.ELICIT, YES | {"answer": "accepted"}, Ask.APPROVAL),  # an answer from a client that cannot ask is no answer
    (Gate.ELICIT, YES | {"previewed": True, "known": KNOWN}, Ask.APPROVAL),  # it asks about friends as well
    (Gate.ELICIT, YES | {"known": KNOWN}, Ask.APPROVAL),
    (Gate.ELICIT, YES | {"can_elicit": True, "previewed": True, "known": KNOWN}, Ask.ELICIT),
    (Gate.APPROVAL, NO, Ask.PREVIEW),
    (Gate.APPROVAL, YES | {"previewed": True}, Ask.APPROVAL),
    (Gate.APPROVAL, YES | {"can_elicit": True, "answer": "accepted"}, Ask.APPROVAL),
    (Gate.APPROVAL, YES | {"approved": True}, None),
    (Gate.AUTO, NO, Ask.PREVIEW),
    (Gate.AUTO, YES | {"can_elicit": True}, Ask.ELICIT),
    (Gate.AUTO, YES | {"can_elicit": True, "answer": "accepted"}, None),
    (Gate.AUTO, YES | {"previewed": True}, Ask.APPROVAL),  # bob is a stranger
    (Gate.AUTO, YES | {"previewed": True, "known": KNOWN}, None),
    (Gate.AUTO, YES | {"known": KNOWN}, Ask.PREVIEW),
    (Gate.AUTO, YES | {"can_elicit": True, "known": KNOWN, "previewed": True}, Ask.ELICIT),
    (Gate.AUTO, YES | {"approved": True}, None),
]


@pytest.mark.parametrize(("gate", "facts", "needed"), TABLE)
def test_each_gate_asks_for_what_is_still_missing(gate, facts, needed):
    decision = judge(DRAFT, Policy(gate=gate), Facts(**facts))
    assert (decision.ask if isinstance(decision, NeedsHuman) else None) == needed
    assert isinstance(decision, NeedsHuman if needed else Allow)


@pytest.mark.parametrize("gate", list(Gate))
def test_a_person_who_declined_is_obeyed_at_every_gate(gate):
    decision = judge(DRAFT, Policy(gate=gate), Facts(confirm=True, can_elicit=True, answer="declined", approved=True))
    assert isinstance(decision, Deny)
    assert decision.by_person
    assert decision.reason == "The person who was asked declined. Do not send this; ask them what to change."


@pytest.mark.parametrize("gate", list(Gate))
@pytest.mark.parametrize(
    ("allow", "block"), [((), ("bob@example.com",)), ((), ("*@EXAMPLE.com",)), (("carol@example.com",), ())]
)
def test_policy_denies_before_any_gate_is_asked(gate, allow, block):
    facts = Facts(confirm=True, approved=True, known=KNOWN, previewed=True)
    decision = judge(DRAFT, Policy(gate=gate, allow=allow, block=block), facts)
    assert isinstance(decision, Deny)
    assert not decision.by_person
    assert decision.reason.startswith("b***@example.com is ")
    assert ("safety.block_recipients" if block else "safety.allow_recipients") in decision.reason


@pytest.mark.parametrize("lists", [{"allow": ("*@example.com",)}, {"block": (EVE.email,)}])
def test_a_reply_to_everybody_who_writes_is_denied_where_a_list_decides_who_may_be_written_to(lists):
    draft = Draft(ALICE, to=(EVERYONE,), subject="Away", text="Back soon.")
    assert policy_denial(draft, Policy()) is None
    denied = policy_denial(draft, Policy(**lists))
    assert denied is not None
    assert denied.reason == (
        "A vacation reply goes to everybody who writes, so the operator's recipient lists (safety.allow_recipients, "
        "safety.block_recipients) cannot be applied to it. The user can switch it on at the provider."
    )


def test_a_domain_pattern_does_not_cover_subdomains_or_lookalikes():
    policy = Policy(allow=("*@example.com",))
    assert policy.allows(BOB)
    assert not policy.allows(Address("bob@mail.example.com"))
    assert not policy.allows(Address("bob@notexample.com"))


def test_blocked_bcc_recipients_are_found_too():
    draft = Draft(ALICE, to=(BOB,), bcc=(EVE,), subject="Hi", text="x")
    assert isinstance(judge(draft, Policy(block=(EVE.email,)), Facts(confirm=True)), Deny)


def test_the_allow_list_vouches_and_case_does_not_matter():
    draft = Draft(ALICE, to=(Address("BOB@Example.com"),), subject="Hi", text="x")
    assert strangers(draft, Policy(allow=("bob@example.com",)), Facts()) == ()
    assert strangers(draft, Policy(), Facts(known=KNOWN)) == ()
    assert len(strangers(draft, Policy(), Facts())) == 1


def test_writing_to_oneself_is_no_stranger():
    assert strangers(Draft(ALICE, to=(ALICE,), subject="x", text="x"), Policy(), Facts(own=ALICE)) == ()


def test_one_stranger_among_friends_still_needs_a_person():
    draft = Draft(ALICE, to=(BOB,), cc=(EVE,), subject="Hi", text="x")
    decision = judge(draft, Policy(), Facts(confirm=True, previewed=True, known=KNOWN))
    assert decision == NeedsHuman(Ask.APPROVAL, decision.findings)
    assert [finding.code for finding in decision.findings] == ["new_recipient"]


def test_findings_name_duplicates_external_forwards_and_crowds():
    crowd = tuple(Address(f"p{n}@other.example") for n in range(21))
    facts = Facts(kind="email_forward", duplicate=True, own=ALICE, known=frozenset(a.key for a in crowd))
    found = findings(Draft(ALICE, to=crowd, subject="x", text="x"), Policy(), facts)
    assert [(finding.code, finding.message) for finding in found] == [
        ("duplicate", "A message with the same recipients, subject and opening was just sent."),
        ("external_forward", "Forwards a received message outside example.com."),
        ("many_recipients", "Goes to 21 people."),
    ]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("email_send", "A message with the same recipients, subject and opening was just sent."),
        ("unsubscribe", "A request to unsubscribe was just made at this address."),
        ("vacation", "The same vacation reply was just switched on."),
    ],
)
def test_what_was_just_done_is_called_what_it_is(kind, said):
    found = findings(DRAFT, Policy(), Facts(kind=kind, duplicate=True, known=KNOWN))
    assert ("duplicate", said) in [(finding.code, finding.message) for finding in found]


def test_a_reply_to_everybody_names_nobody():
    (found,) = findings(Draft(ALICE, to=(EVERYONE,), subject="Away", text="x"), Policy(), Facts(kind="vacation"))
    assert (found.code, found.message) == ("new_recipient", "It goes to everybody who writes to this mailbox.")


def test_twenty_recipients_are_no_crowd_and_a_forward_within_the_house_is_not_external():
    colleagues = tuple(Address(f"p{n}@example.com") for n in range(20))
    known = frozenset(address.key for address in colleagues)
    draft = Draft(ALICE, to=colleagues, subject="x", text="x")
    assert findings(draft, Policy(), Facts(kind="email_forward", own=ALICE, known=known)) == ()
    outside = Draft(ALICE, to=(EVE,), subject="x", text="x")
    vouched = Policy(allow=(EVE.email,))
    assert findings(outside, vouched, Facts(own=ALICE)) == ()
    assert findings(outside, vouched, Facts(kind="email_forward")) == ()


@pytest.mark.parametrize(("count", "shown"), [(1, ""), (5, ""), (6, ", …")])
def test_a_stranger_is_named_and_of_many_the_first_five(count, shown):
    crowd = tuple(Address(f"p{n}@other.example") for n in range(count))
    (found,) = findings(Draft(ALICE, to=crowd, subject="x", text="x"), Policy(), Facts())
    names = ", ".join(address.email for address in crowd[:5])
    assert (found.code, found.message) == ("new_recipient", f"Never written to before: {names}{shown}.")


def test_what_is_allowed_or_asked_about_still_tells_what_was_found():
    facts = Facts(confirm=True, duplicate=True, known=KNOWN)
    for gate in (Gate.CONFIRM, Gate.PREVIEW, Gate.APPROVAL):
        assert [found.code for found in judge(DRAFT, Policy(gate=gate), facts).findings] == ["duplicate"]
    shown = judge(DRAFT, Policy(gate=Gate.CONFIRM), Facts(duplicate=True, known=KNOWN))
    assert [found.code for found in shown.findings] == ["duplicate"]


def test_nothing_is_taken_for_granted():
    """A request about which nothing is known is an unconfirmed mail to strangers."""
    assert Facts() == Facts("email_send", False, False, False, None, False, frozenset(), Address(""), False)
    assert judge(DRAFT, Policy(), Facts(confirm=True)) == NeedsHuman(Ask.APPROVAL, findings(DRAFT, Policy(), Facts()))
    assert Policy() == Policy(Gate.AUTO, (), (), 26_214_400)


def test_spaces_around_an_entry_of_a_list_do_not_matter():
    assert Policy(block=(" bob@example.com ",)).blocks(BOB)
    assert not Policy(block=("*@example.org", "*bob@example.com")).blocks(BOB)


@pytest.mark.parametrize("operator", list(Gate))
@pytest.mark.parametrize("request_", list(Gate))
def test_a_request_can_only_tighten(operator, request_):
    order = list(Gate)
    assert order.index(tightest(operator, request_)) == max(order.index(operator), order.index(request_))


def test_the_gates_are_named_as_the_settings_name_them_from_the_loosest_to_the_tightest():
    assert [gate.value for gate in Gate] == ["confirm", "preview", "auto", "elicit", "approval"]
    assert [ask.value for ask in Ask] == ["preview", "elicit", "approval"]


ROUTED = [
    "mallory%evil.example@example.com",
    "evil.example!mallory@example.com",
    "/s=mallory/o=evil@example.com",
    '"mallory@evil.example"@example.com',
    '"mallory"@example.com',
    "mallory@evil.example@example.com",
    "@a.example,@b.example:mallory@example.com",
    "IMCEASMTP-mallory+40evil+2Eexample@example.com",
]
PLAIN = [
    "bob+list@example.com",
    "o'brien@example.com",
    "bob-x_y.z@example.com",
    "impact@example.com",
    "jürgen@example.com",
]


@pytest.mark.parametrize("email", ROUTED)
@pytest.mark.parametrize(
    "lists", [{"allow": ("*@example.com",)}, {"block": ("*@evil.example",)}, {"allow": ("{}",)}, {"block": ("x@y.zz",)}]
)
def test_an_address_that_routes_elsewhere_is_refused_where_a_list_is_set(email, lists):
    policy = Policy(gate=Gate.CONFIRM, **{name: (entry.format(email),) for name, (entry,) in lists.items()})
    draft = Draft(ALICE, to=(Address(email),), subject="Hi", text="x")
    decision = judge(draft, policy, Facts(confirm=True, approved=True, known=frozenset({Address(email).key})))
    assert isinstance(decision, Deny)
    assert decision.reason.endswith(
        " contains a route to another server before the @ (such as % or !), so the operator's recipient lists cannot "
        "be applied to it. Use the final address instead."
    )
    assert not policy.vouches_for(Address(email))
    assert "mallory" not in decision.reason


@pytest.mark.parametrize("email", ROUTED)
def test_an_address_that_routes_elsewhere_is_never_known(email):
    draft = Draft(Address(email), to=(Address(email),), subject="Hi", text="x")
    known = Facts(confirm=True, previewed=True, known=frozenset({Address(email).key}))
    assert judge(draft, Policy(), known) == NeedsHuman(Ask.APPROVAL, findings(draft, Policy(), known))


@pytest.mark.parametrize("email", PLAIN)
def test_ordinary_addresses_are_judged_by_the_lists(email):
    draft = Draft(ALICE, to=(Address(email),), subject="Hi", text="x")
    assert isinstance(judge(draft, Policy(gate=Gate.CONFIRM, allow=("*@example.com",)), Facts(confirm=True)), Allow)
    assert strangers(draft, Policy(), Facts(known=frozenset({Address(email).key}))) == ()


def test_a_forward_to_an_address_that_routes_elsewhere_is_external():
    facts = Facts(kind="email_forward", own=ALICE)
    draft = Draft(ALICE, to=(Address("mallory%evil.example@example.com"),), subject="Hi", text="x")
    assert "external_forward" in [finding.code for finding in findings(draft, Policy(), facts)]


def test_of_a_request_nothing_is_believed_that_was_not_found_out():
    facts = Facts()
    assert (facts.kind, facts.answer, facts.known, facts.own) == ("email_send", None, frozenset(), Address(""))
    beliefs = (facts.confirm, facts.previewed, facts.can_elicit, facts.approved, facts.duplicate)
    assert beliefs == (False,) * 5
    assert facts.unreachable == ()
    assert (Allow().findings, NeedsHuman(Ask.PREVIEW).findings, Deny("no").by_person) == ((), (), False)
    assert [ask.value for ask in Ask] == ["preview", "elicit", "approval"]
