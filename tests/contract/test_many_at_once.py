"""One question about many: as many recipients, or Message-IDs, as are looked up at once before a mail leaves."""

from __future__ import annotations

from postroom.model.query.tree import Correspondent, In, MessageId, Or, Query

from .mails import mail, message_id
from .rigs import Rig, RigAccount, SeedMail

MANY = 20


async def test_mail_to_any_of_twenty_people_is_found_in_one_search(rig: Rig, account: RigAccount) -> None:
    await rig.seed([seed(number) for number in range(3)])
    await rig.settle()
    people = [f"p{number}@many.example" for number in range(1, MANY + 1)]
    named = Or(tuple(Correspondent(field, person) for person in people for field in ("to", "cc")))  # type: ignore[arg-type]
    inbox = next(folder for folder in await account.mailbox.folders() if folder.name.casefold() == "inbox")
    page = await account.mailbox.search(Query().narrowed(In(inbox.ref), named), limit=50, offset=0)
    assert {row.message_id for row in page.items} == {message_id("m1"), message_id("m2")}


async def test_any_of_twenty_message_ids_is_found_in_one_search_wherever_it_lies(rig: Rig, account: RigAccount) -> None:
    await rig.seed([seed(number) for number in range(3)])
    wanted = Or(tuple(MessageId(message_id(f"m{number}")) for number in range(1, MANY + 1)))
    page = await account.mailbox.search(Query(wanted, anywhere=True), limit=50, offset=0)
    assert {row.message_id for row in page.items} == {message_id("m1"), message_id("m2")}


def seed(number: int) -> SeedMail:
    """To one person, or with a copy to one."""
    person = f"p{number}@many.example"
    return SeedMail(mail(f"m{number}", to=person) if number % 2 else mail(f"m{number}", cc=person))
