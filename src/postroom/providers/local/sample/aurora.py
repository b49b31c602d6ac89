"""The Aurora launch, from the kick-off to the last open point."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.providers.local.sample.files import csv, pdf, png
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, MAYA, PRIYA, SAM, TOMAS


def letters() -> list[Letter]:
    kickoff = csv("milestones.csv", "milestone,owner,due", "kick-off,Maya,1", "beta,Priya,9", "launch,Alex,20")
    return [
        *conversation(
            "aurora-kickoff",
            "Aurora kick-off: goals and dates",
            168,
            [
                Turn(
                    MAYA,
                    "Hi all,\n\nAurora is green-lit. Beta in nine weeks, launch in twenty. The milestones are attached; please put your name behind one.\n\nMaya",
                    files=(kickoff,),
                ),
                Turn(PRIYA, "Count Aurora Labs in. We take the sensor firmware and the beta group.\n\nPriya", 5),
                Turn(ALEX, "I'll own the launch itself, and the pricing page.\n\nAlex", 3),
                Turn(SAM, "Taking QA. I need two test devices by week three.\n\nSam", 20),
            ],
            folder="Projects/Aurora",
            labels=("aurora",),
        ),
        *conversation(
            "aurora-sensor",
            "Sensor drift below 5 °C",
            121,
            [
                Turn(
                    SAM,
                    "The humidity reading drifts by 4 % below 5 °C on both devices. Log attached.\n\nSam",
                    files=(csv("drift.csv", "temp_c,expected,read", "20,45.0,45.1", "5,45.0,46.2", "2,45.0,48.9"),),
                ),
                Turn(
                    PRIYA,
                    "Confirmed here. The compensation table stops at 5 °C. Firmware 0.9.3 goes out tonight.\n\nPriya",
                    7,
                ),
                Turn(SAM, "0.9.3 fixes it: 0.3 % at 1 °C. Closing.\n\nSam", 26),
                Turn(ALEX, 'Lovely. Let\'s say "tested from -10 to 40 °C" on the box then.\n\nAlex', 2),
            ],
            folder="Projects/Aurora",
            labels=("aurora", "bug"),
        ),
        *conversation(
            "aurora-pricing",
            "Aurora pricing: 89 or 99?",
            64,
            [
                Turn(
                    ALEX,
                    "I modelled both. At 99 we lose about 6 % of the orders and keep 11 % more margin. I lean to 99 with a launch discount.\n\nAlex",
                    files=(csv("pricing-model.csv", "price,orders,margin", "89,1000,31.0", "99,940,41.2"),),
                ),
                Turn(MAYA, "99 it is. Discount of 10 for the first two weeks, not longer.\n\nMaya", 22),
                Turn(PRIYA, "Fine with us. The revenue share is on the net price, as agreed.\n\nPriya", 4),
            ],
            also=[SAM],
            folder="Projects/Aurora",
            labels=("aurora",),
            starred=True,
        ),
        *conversation(
            "aurora-beta",
            "Beta feedback, week 2",
            43,
            [
                Turn(
                    PRIYA,
                    "38 of 50 testers answered. Setup took 4 minutes on average, the worst was 31 (an old router). Three asked for a wall mount.\n\nPriya",
                    files=(
                        pdf(
                            "beta-week-2.pdf",
                            "Aurora beta, week 2",
                            "38 of 50 testers answered",
                            "Median setup: 4 minutes",
                        ),
                    ),
                ),
                Turn(
                    SAM, "The 31 minutes: the router only speaks WEP. We should say so instead of spinning.\n\nSam", 3
                ),
                Turn(
                    ALEX,
                    "Agreed. Clear message, link to the help page. The wall mount goes on the list for spring.\n\nAlex",
                    18,
                ),
                Turn(PRIYA, "Message text is in build 1.0.0-rc2.\n\nPriya", 48),
            ],
            folder="Projects/Aurora",
            labels=("aurora",),
        ),
        *conversation(
            "aurora-photos",
            "Product photos to choose from",
            19,
            [
                Turn(
                    MAYA,
                    "Two candidates for the front page, the warm one and the blue one. Vote by Thursday please.\n\nMaya",
                    files=(
                        png("aurora-warm.png", 160, 100, (232, 152, 72)),
                        png("aurora-blue.png", 160, 100, (60, 110, 210)),
                    ),
                ),
                Turn(SAM, "Blue. The warm one looks like a heater.\n\nSam", 2),
                Turn(ALEX, "Blue as well.\n\nAlex", 1),
            ],
            also=[TOMAS],
            folder="Projects/Aurora",
            labels=("aurora",),
        ),
        *conversation(
            "aurora-checklist",
            "Launch checklist: what is still open",
            5.2,
            [
                Turn(
                    MAYA,
                    "Six days to go. Open from my side:\n\n- press text (Alex)\n- load test of the shop (Sam)\n- stock count at the Hamburg warehouse (Tomáš)\n- legal check of the warranty card (Nadia)\n\nMaya",
                ),
                Turn(TOMAS, "Hamburg counted: 2,140 units, 12 damaged.\n\nTomáš", 20),
                Turn(SAM, "Load test done: 400 orders a minute, then the payment page queues. Good enough.\n\nSam", 14),
                Turn(ALEX, "Press text is with Maya for a last look.\n\nAlex", 9),
                Turn(MAYA, "Looks good. Only the warranty card is left. @Alex, can you chase Nadia today?\n\nMaya", 60),
            ],
            folder="INBOX",
            labels=("aurora",),
            starred=True,
        ),
    ]
