"""What machines write: receipts, parcels, statements, the build server, reminders."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.model.address import Address
from postroom.providers.local.sample.files import csv, pdf
from postroom.providers.local.sample.letters import Letter
from postroom.providers.local.sample.people import ALEX, SAM

_SHOP = Address("orders@cornerbooks.example", "Corner Books")
_PARTS = Address("billing@partsdepot.example", "Parts Depot")
_RAIL = Address("tickets@nordrail.example", "Nordrail")
_BANK = Address("statements@northbank.example", "North Bank")
_PARCEL = Address("no-reply@parcelwing.example", "Parcelwing")
_BUILD = Address("ci@build.demo.example", "Build server")
_CLOUD = Address("invoices@stackhouse.example", "Stackhouse Hosting")

# shop, what, amount, days ago
_RECEIPTS: tuple[tuple[Address, str, str, float], ...] = (
    (_SHOP, "Three paperbacks and a globe", "61.40", 0.6),
    (_CLOUD, "Hosting, current month", "48.00", 3.4),
    (_RAIL, "Hamburg and back, seat 41", "96.40", 13),
    (_PARTS, "200 pogo pins, 10 test clips", "118.20", 24),
    (_CLOUD, "Hosting, previous month", "48.00", 34),
    (_SHOP, "Atlas of remote islands", "34.00", 47),
    (_PARTS, "Climate box, used", "640.00", 66),
    (_RAIL, "Lisbon night train, two berths", "318.00", 83),
    (_CLOUD, "Hosting, two months back", "42.00", 95),
    (_PARTS, "Oscilloscope probe set", "89.90", 118),
    (_SHOP, "Calendar and gift wrap", "22.50", 140),
    (_CLOUD, "Hosting, start of contract", "42.00", 156),
)

# branch, verdict, days ago
_BUILDS: tuple[tuple[str, str, float], ...] = (
    ("main", "passed", 0.3),
    ("sam/reconnect-test", "passed", 1.2),
    ("sam/reconnect-test", "failed", 2.1),
    ("main", "failed", 2.5),
    ("release/1.0", "passed", 5.8),
    ("release/1.0", "failed", 6.1),
    ("main", "passed", 11),
    ("main", "failed", 28),
    ("firmware-0.9.3", "passed", 120),
)

# what, where it is, days ago
_PARCELS: tuple[tuple[str, str, float], ...] = (
    ("books from Corner Books", "is out for delivery and arrives today between 14:00 and 17:00", 0.1),
    ("two Aurora units for Kassel", "was delivered to gate 3", 6.6),
    ("pogo pins from Parts Depot", "waits for you at the Mill Street locker, code 4-8-1-5", 21),
    ("climate box from Parts Depot", "was handed to a neighbour at number 12", 63),
    ("running shoes, 10 pairs", "was delivered to Kenji Mori", 98),
)


def letters() -> list[Letter]:
    return [
        *map(_receipt, range(len(_RECEIPTS))),
        *map(_build, range(len(_BUILDS))),
        *_parcels(),
        *_statements(),
        *_others(),
    ]


def _receipt(place: int) -> Letter:
    shop, what, amount, days_ago = _RECEIPTS[place]
    number = 88_100 - place * 17
    return Letter(
        f"receipt-{number}",
        shop,
        (ALEX,),
        f"Your receipt {number}",
        f"Thank you for your order.\n\n{what}: EUR {amount}\nPaid by card ending 0042.\n\n{shop.name}",
        days_ago,
        html=f"<p>Thank you for your order.</p><table border=1><tr><th>Item</th><th>EUR</th></tr><tr><td>{what}</td><td>{amount}</td></tr></table><p>Paid by card ending 0042.</p><p>{shop.name}</p>",
        files=(pdf(f"receipt-{number}.pdf", shop.name, f"Receipt {number}", f"{what}: EUR {amount}"),),
        folder="請求書" if days_ago > 10 else "INBOX",
        labels=("receipts",),
    )


def _build(place: int) -> Letter:
    branch, verdict, days_ago = _BUILDS[place]
    number = 2_310 - place * 9
    passed = verdict == "passed"
    detail = "214 tests, 0 failures." if passed else "214 tests, 1 failure: test_reconnect."
    return Letter(
        f"build-{number}",
        _BUILD,
        (SAM,),
        f"[build] #{number} on {branch} {verdict}",
        f"Build #{number} of aurora-firmware on {branch} {verdict}.\n{detail}\nhttps://build.demo.example/{number}",
        days_ago,
        cc=(ALEX,),
        headers=(("List-Id", "<builds.demo.example>"), ("Auto-Submitted", "auto-generated")),
        labels=("builds",),
        unread=not passed and days_ago < 3,
    )


def _parcels() -> list[Letter]:
    return [
        Letter(
            f"parcel-{place}",
            _PARCEL,
            (ALEX,),
            "Your parcel " + ("has arrived" if "delivered" in where else "is on its way"),
            f"Your parcel ({what}) {where}.\n\nParcelwing",
            days_ago,
            headers=(("Auto-Submitted", "auto-generated"),),
        )
        for place, (what, where, days_ago) in enumerate(_PARCELS)
    ]


def _statements() -> list[Letter]:
    return [
        Letter(
            f"statement-{month}",
            _BANK,
            (ALEX,),
            "Your monthly statement is ready",
            "Your statement is attached. North Bank never asks for your password by mail.\n\nNorth Bank",
            days_ago,
            files=(
                csv("statement.csv", "date,text,amount", "1,rent,-1180.00", "5,groceries,-84.12", "28,salary,4210.00"),
            ),
            folder="請求書",
            labels=("bank",),
            starred=month == 1,
        )
        for month, days_ago in enumerate((8.2, 38.2, 68.2, 99.2, 129.2, 160.2), 1)
    ]


def _others() -> list[Letter]:
    library = Address("loans@citylibrary.example", "City Library")
    gym = Address("front.desk@liftgym.example", "Lift Gym")
    forum = Address("notify@makersforum.example", "Makers Forum")
    return [
        Letter(
            "library-due",
            library,
            (ALEX,),
            "2 books are due on Friday",
            "The Salt Path\nA Brief History of Timekeeping\n\nRenew at https://citylibrary.example/renew",
            2.8,
        ),
        Letter(
            "library-hold",
            library,
            (ALEX,),
            "Your hold is ready",
            '"Night Trains of Europe" waits at the desk until Saturday.',
            17,
        ),
        Letter(
            "gym-hours",
            gym,
            (SAM,),
            "Holiday opening hours",
            "We are open 8:00 to 14:00 on the 1st. Happy lifting!",
            45,
        ),
        Letter(
            "forum-reply",
            forum,
            (SAM,),
            "New answer to: Humidity sensor drift",
            "You are not alone. Check the compensation table, ours stopped at 5 degrees.",
            119,
            headers=(("List-Id", "<drift.makersforum.example>"),),
        ),
        Letter(
            "forum-digest",
            forum,
            (ALEX, SAM),
            "Makers Forum: 5 topics you may like",
            "1. Pogo pin test beds\n2. WEP routers, still?\n3. Best 19-euro logic analyser\n4. Oak shelf rescue\n5. Quiet power supplies",
            20.5,
            headers=(("List-Id", "<digest.makersforum.example>"),),
            labels=("newsletters",),
        ),
    ]
