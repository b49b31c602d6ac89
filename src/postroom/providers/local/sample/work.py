"""Conversations at work: the Aurora launch and what surrounds it."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.providers.local.sample.files import csv, pdf, png
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, JONAS, LIAM, MAYA, NADIA, PRIYA, SAM, TOMAS, ZOE


def letters() -> list[Letter]:
    return [*_aurora(), *_with_sam(), *_clients(), *_office()]


def _aurora() -> list[Letter]:
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
