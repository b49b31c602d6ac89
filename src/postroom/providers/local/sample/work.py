"""Conversations at work: with Sam, with customers, in the office."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.providers.local.sample.files import csv, pdf, png
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, JONAS, LIAM, MAYA, NADIA, SAM, TOMAS, ZOE


def letters() -> list[Letter]:
    return [*_with_sam(), *_clients(), *_office()]


def _with_sam() -> list[Letter]:
    return [
        *conversation(
            "sam-desk",
            "Standing desk for the lab",
            150,
            [
                Turn(SAM, "The old bench wobbles. May I order the 160 cm standing desk? 412 euros.\n\nSam"),
                Turn(ALEX, "Yes, please do. Put it on cost centre 4400.\n\nAlex", 3),
                Turn(SAM, "Ordered, arrives in a fortnight.\n\nSam", 2),
            ],
            folder="Archive",
        ),
        *conversation(
            "sam-interview",
            "Interview notes: Zoë Martin",
            33,
            [
                Turn(
                    SAM,
                    "Strong on embedded C, honest about not knowing Bluetooth yet. Asked the best questions of all four candidates. I would hire her.\n\nSam",
                ),
                Turn(ALEX, "Same impression. I'll write the offer today.\n\nAlex", 4),
            ],
            labels=("hiring",),
        ),
        *conversation(
            "sam-expenses",
            "Travel expenses Hamburg",
            12,
            [
                Turn(
                    SAM,
                    "Train 96.40, hotel 118.00, dinner with Tomáš 41.20. Receipts attached.\n\nSam",
                    files=(pdf("expenses-hamburg.pdf", "Train 96.40", "Hotel 118.00", "Dinner 41.20", "Total 255.60"),),
                ),
                Turn(ALEX, "Approved, 255.60 goes out with the next payroll.\n\nAlex", 21),
            ],
            labels=("expenses",),
        ),
        *conversation(
            "sam-flaky",
            "Flaky test on the build server",
            2.4,
            [
                Turn(
                    SAM,
                    "test_reconnect fails one time in thirty since Tuesday. It waits for a fixed 200 ms. Do you mind if I rewrite it to wait for the event?\n\nSam",
                ),
                Turn(ALEX, "Please do, and look whether its sisters sleep as well.\n\nAlex", 3),
                Turn(SAM, "They did, all five. Rewritten; 500 runs, no failure.\n\nSam", 24),
            ],
        ),
        *conversation(
            "sam-lunch",
            "Lunch today?",
            0.18,
            [Turn(SAM, "The noodle place at 12:30? I want to hear about the press calls.\n\nSam")],
            also=[ALEX],
        ),
    ]


def _clients() -> list[Letter]:
    return [
        *conversation(
            "keller-quote",
            "Quote for 40 Aurora units, site office",
            96,
            [
                Turn(
                    JONAS,
                    "Good morning,\n\nwe would like 40 units for our site offices in Kassel. Is there a project price?\n\nBest regards\nJonas Keller",
                ),
                Turn(
                    ALEX,
                    "Dear Jonas,\n\nfor 40 units we can offer 84.00 each, delivery included. The quote is attached and valid for 30 days.\n\nKind regards\nAlex Rivera",
                    20,
                    (pdf("quote-2207.pdf", "Quote 2207", "40 x Aurora at 84.00", "Total 3,360.00 EUR"),),
                ),
                Turn(JONAS, "Accepted. Please deliver to the Kassel yard, gate 3.\n\nJonas Keller", 50),
                Turn(ALEX, "Thank you! Tomáš will announce the delivery.\n\nAlex", 2),
            ],
            folder="Archive",
            labels=("customers",),
        ),
        *conversation(
            "keller-damaged",
            "Two units arrived damaged",
            9,
            [
                Turn(
                    JONAS,
                    "Two of the 40 have cracked housings, photo attached. Can you replace them before the 20th?\n\nJonas Keller",
                    files=(png("cracked.png", 120, 90, (140, 140, 150)),),
                ),
                Turn(TOMAS, "Sorry about that. Two replacements leave Hamburg tomorrow, tracking follows.\n\nTomáš", 5),
            ],
            also=[ALEX],
            labels=("customers",),
        ),
        *conversation(
            "harbor-warranty",
            "Warranty card wording",
            7.5,
            [
                Turn(
                    ALEX,
                    "Dear Nadia,\n\ncould you check the warranty card before we print 5,000 of them? Two pages.\n\nThank you\nAlex",
                    files=(pdf("warranty-card-v3.pdf", "Warranty: 24 months", "Covers material and workmanship"),),
                ),
                Turn(
                    NADIA,
                    'Dear Alex,\n\none point: "lifetime support" in paragraph 4 is a promise without an end. Say "support for five years". The rest is fine.\n\nNadia Petersen\nHarbor Legal',
                    70,
                ),
            ],
            labels=("legal",),
            starred=True,
        ),
        *conversation(
            "greenline",
            "Greenline Energy: pilot with 12 schools",
            27,
            [
                Turn(
                    LIAM,
                    "Hello Alex,\n\nwe plan a pilot in 12 schools and need a sensor that reports to our own server, not to a cloud. Can Aurora do that?\n\nLiam Byrne\nGreenline Energy",
                ),
                Turn(
                    ALEX,
                    "Hello Liam,\n\nyes: MQTT to any broker, settings page 3. I can lend you two units for a month.\n\nAlex",
                    6,
                ),
                Turn(
                    LIAM,
                    "Perfect. Please send them to 4 Quay Street. We would start on the first of next month.\n\nLiam",
                    44,
                ),
                Turn(SAM, "Both units are on their way, firmware 1.0.0-rc2, logging on.\n\nSam", 30),
            ],
            labels=("customers",),
        ),
    ]


def _office() -> list[Letter]:
    return [
        *conversation(
            "offsite",
            "Team offsite: lake or mountains",
            78,
            [
                Turn(
                    TOMAS,
                    "Two offers: a house by the lake (22 beds) or a hut at 1,400 m (18 beds). Same price.\n\nTomáš",
                ),
                Turn(MAYA, "Lake. I am bringing the canoe.\n\nMaya", 1),
                Turn(SAM, "Mountains, but I can be bribed.\n\nSam", 1),
                Turn(ALEX, "Lake this year, mountains next year. Booking it.\n\nAlex", 20),
                Turn(TOMAS, "Booked, 14th to 16th. Packing list follows.\n\nTomáš", 30),
            ],
            folder="Archive",
        ),
        *conversation(
            "zoe-offer",
            "Your offer from Demo Devices",
            31,
            [
                Turn(
                    ALEX,
                    "Dear Zoë,\n\nwe would love to have you on the team. The offer is attached; take the time you need.\n\nAlex Rivera",
                    files=(pdf("offer-zoe-martin.pdf", "Offer: firmware engineer", "Start: first of next month"),),
                ),
                Turn(
                    ZOE,
                    "Dear Alex,\n\nI am delighted to accept. May I start a week later? My lease ends mid-month.\n\nZoë",
                    52,
                ),
                Turn(ALEX, "Of course. Welcome aboard!\n\nAlex", 2),
            ],
            labels=("hiring",),
        ),
        *conversation(
            "maya-slides",
            "Slides for the investor call",
            1.3,
            [
                Turn(
                    MAYA,
                    "Alex, could you add the beta numbers to slide 7 and check the margin on slide 9? The call is tomorrow at 15:00.\n\nMaya",
                    files=(csv("slide-9.csv", "quarter,margin", "Q1,28", "Q2,33", "Q3,41"),),
                ),
            ],
            also=[ALEX],
            starred=True,
        ),
        *conversation(
            "maya-urgent",
            "Urgent: which margin goes on slide 9?",
            0.06,
            [
                Turn(
                    MAYA,
                    "Alex, the slides go out within the hour and I still have two margins for Q3: 41 % in the table, 39 % in the notes. Which one is right?\n\nMaya",
                ),
            ],
            also=[ALEX],
        ),
        *conversation(
            "tomas-warehouse",
            "Warehouse in Hamburg: new opening hours",
            3.1,
            [
                Turn(
                    TOMAS,
                    "From Monday on the warehouse is open 7:00 to 19:00, Saturdays closed. Please tell whoever ships from there.\n\nTomáš",
                )
            ],
            also=[ALEX, SAM, MAYA],
        ),
        *conversation(
            "security-training",
            "Security training: done by all but one",
            52,
            [
                Turn(TOMAS, "All but one person finished the phishing training. Sam, I am looking at you.\n\nTomáš"),
                Turn(SAM, "Done. I fell for question 9, the one with the zero in the domain.\n\nSam", 5),
                Turn(ALEX, "That one got me too.\n\nAlex", 1),
            ],
            also=[MAYA],
            folder="Archive",
        ),
    ]
