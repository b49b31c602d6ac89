"""What the newsletters tell: five series, newest issue first."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.model.address import Address
from postroom.providers.local.sample.people import ALEX, SAM

Story = tuple[str, str]  # headline, paragraph


@dataclass(frozen=True, slots=True)
class Series:
    """One newsletter: the newest issue came `newest` days ago, the others every `every` days before it."""

    key: str
    sender: Address
    readers: tuple[Address, ...]
    every: float
    newest: float
    issues: tuple[tuple[str, tuple[Story, ...]], ...]


SERIES = (
    Series(
        "circuit",
        Address("hello@circuitweekly.example", "Circuit Weekly"),
        (ALEX, SAM),
        14,
        1.1,
        (
            (
                "Solder less, test more",
                (
                    (
                        "Pogo pins are back",
                        "Three makers show test beds that take an afternoon to build and save a week of debugging.",
                    ),
                    (
                        "Reader question",
                        "Why does my ADC read 3 counts high? Nine out of ten times it is the ground plane.",
                    ),
                    ("Tool of the week", "A pocket logic analyser for 19 euros, measured against one for 900."),
                ),
            ),
            (
                "Batteries in the cold",
                (
                    ("What happens at minus ten", "We froze six cells and plotted the drop. One of them surprised us."),
                    ("The data", "All curves are free to download, with the script that drew them."),
                ),
            ),
            (
                "The quiet power supply",
                (
                    ("Ripple, heard and seen", "A switching supply that audio people would accept, part by part."),
                    ("From the archive", "Linear regulators, explained with garden hoses."),
                ),
            ),
            (
                "Radio without tears",
                (
                    ("Antenna on a napkin", "Four formulas that get you within ten percent."),
                    ("Event", "Open lab night, bring a board that does not work."),
                ),
            ),
            (
                "Firmware you can trust",
                (
                    (
                        "Signed updates in 200 lines",
                        "The smallest bootloader we could write that refuses a forged image.",
                    ),
                    ("Letters", "You disagreed about watchdogs. Loudly."),
                ),
            ),
            (
                "Humidity sensors compared",
                (
                    ("Ten sensors, one climate box", "The cheapest came second. The dearest came sixth."),
                    ("Method", "How we kept the box within 0.2 percent for a week."),
                ),
            ),
            (
                "New year, new bench",
                (
                    ("A bench for 300 euros", "What to buy first, what never to buy, what to borrow."),
                    ("Thank you", "Forty thousand of you read us now."),
                ),
            ),
        ),
    ),
    Series(
        "crumb",
        Address("news@crumbandkettle.example", "Crumb & Kettle"),
        (ALEX,),
        21,
        2.6,
        (
            (
                "A loaf for lazy Sundays",
                (
                    (
                        "Mix on Saturday, bake on Sunday",
                        "Five minutes of work, eighteen hours of patience, one very good crust.",
                    ),
                    ("In season", "Rhubarb, wild garlic, the last of the blood oranges."),
                ),
            ),
            (
                "Soup that waits for you",
                (
                    ("Barley and lemon", "Better on day two, best on day three."),
                    ("Shop", "Our enamel pot is back in blue, 20 % off until Sunday."),
                ),
            ),
            (
                "Pickles in ten minutes",
                (
                    ("Red onions", "Vinegar, sugar, salt, hot water. That is all."),
                    ("Ask us", "Can I freeze hummus? Yes, and here is how."),
                ),
            ),
            (
                "The pancake index",
                (("Thin, thick, puffed", "Eleven pancakes from eleven countries, ranked by our children."),),
            ),
            (
                "Tea for a cold week",
                (
                    ("Smoked, malted, floral", "Three teas we keep on the shelf all winter."),
                    ("Gift box", "Ships until the 20th."),
                ),
            ),
            (
                "Apples, thirty ways",
                (("Start with the ugly ones", "Sauce, butter, cake, and a roast you will not expect."),),
            ),
        ),
    ),
    Series(
        "atlas",
        Address("dispatch@slowatlas.example", "The Slow Atlas"),
        (ALEX,),
        26,
        6.5,
        (
            (
                "By night train to the sea",
                (
                    ("Nineteen hours, four borders", "What to pack, where to sleep, when to look out of the window."),
                    ("Fares", "From 79 euros when booked eight weeks ahead."),
                ),
            ),
            (
                "Islands without cars",
                (
                    ("Seven of them", "Bicycles, boats and your own two feet."),
                    ("Map", "All seven on one page, to print."),
                ),
            ),
            (
                "Walking the old salt road",
                (
                    (
                        "Five days, one suitcase carried for you",
                        "Inns that still know what a wanderer eats for breakfast.",
                    ),
                ),
            ),
            (
                "A city by its libraries",
                (("Reading rooms of Lisbon", "Free, silent, open late, and one has a tiled courtyard."),),
            ),
            ("Winter light", (("Eleven hours of dusk", "A photographer's week above the arctic circle."),)),
        ),
    ),
    Series(
        "ledger",
        Address("briefing@plainledger.example", "Plain Ledger"),
        (SAM, ALEX),
        28,
        9.3,
        (
            (
                "What small firms should know this month",
                (
                    (
                        "E-invoices become the rule",
                        "Receiving them is mandatory, sending follows. What to check in your software.",
                    ),
                    ("Dates", "VAT return, payroll tax, trade register."),
                ),
            ),
            (
                "Depreciation, explained once",
                (
                    ("The desk, the laptop, the van", "Three purchases, three ways to write them off."),
                    ("Template", "A one-page asset list."),
                ),
            ),
            (
                "Late payers",
                (
                    ("A letter that works", "Polite, short, with a date in it."),
                    ("Law", "From when interest is due, and how much."),
                ),
            ),
            ("The year-end list", (("Twelve things before the 31st", "From stocktaking to the travel log."),)),
        ),
    ),
    Series(
        "bikes",
        Address("club@velostop.example", "Velostop"),
        (SAM,),
        30,
        4.4,
        (
            (
                "Spring service, 20 % off",
                (
                    ("Bring it in before April", "Brakes, gears, chain, and a wash."),
                    ("New", "Cargo bikes to rent by the hour."),
                ),
            ),
            ("Lights on", (("What the law asks for", "And what actually gets you seen."),)),
            ("The long weekend route", (("Along the river, 140 km", "Two nights, three bakeries, one ferry."),)),
        ),
    ),
)
