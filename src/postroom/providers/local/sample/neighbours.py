"""Conversations with whoever else a life brings along: landlord, insurer, book club, a conference, a plumber."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.model.address import Address
from postroom.providers.local.sample.files import csv, pdf
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, SAM

_LANDLORD = Address("office@millstreet-homes.example", "Mill Street Homes")
_INSURER = Address("claims@steadfast-insurance.example", "Steadfast Insurance")
_CONFERENCE = Address("program@sensorconf.example", "SensorConf Program Team")
_PLUMBER = Address("hanna@pipeworks.example", "Hanna Berg")
_INGRID = Address("ingrid@pageturners.example", "Ingrid Solheim")
_MATEO = Address("mateo@pageturners.example", "Mateo Silva")
_PODCAST = Address("fay@smallfactory-podcast.example", "Fay Whitcombe")
_TEACHER = Address("piano@studio-weiss.example", "Anton Weiß")


def letters() -> list[Letter]:
    return [*_home(), *_clubs(), *_trade()]


def _home() -> list[Letter]:
    return [
        *conversation(
            "boiler",
            "No hot water since this morning",
            1.5,
            [
                Turn(
                    ALEX,
                    "Good morning,\n\nthe boiler shows E4 and there is no hot water. Could someone come today?\n\nAlex Rivera, Mill Street 14, 2nd floor",
                ),
                Turn(
                    _LANDLORD,
                    "Dear Alex Rivera,\n\nHanna Berg of Pipeworks is on her way and will ring before eleven.\n\nMill Street Homes",
                    1.5,
                ),
                Turn(
                    _PLUMBER,
                    "Pressure was low, the valve is replaced. If E4 comes back, turn the black knob a quarter to the left.\n\nHanna Berg",
                    5,
                ),
            ],
        ),
        *conversation(
            "rent",
            "Service charges for last year",
            57,
            [
                Turn(
                    _LANDLORD,
                    "Dear Alex Rivera,\n\nplease find the settlement of the service charges. You get 84.17 back.\n\nMill Street Homes",
                    files=(
                        pdf("service-charges.pdf", "Service charges", "Paid 1,320.00", "Used 1,235.83", "Credit 84.17"),
                    ),
                ),
                Turn(ALEX, "Thank you. Please set it off against the next rent.\n\nAlex Rivera", 30),
            ],
            folder="請求書",
        ),
        *conversation(
            "bike-claim",
            "Claim 55-2031: stolen bicycle",
            105,
            [
                Turn(
                    ALEX,
                    "Dear claims team,\n\nmy bicycle was stolen on Tuesday from the rack at the north station. Police report and receipt attached.\n\nAlex Rivera",
                    files=(
                        pdf("police-report.pdf", "Report 88-104", "One bicycle, blue"),
                        pdf("receipt-bicycle.pdf", "Bicycle, blue: 890.00"),
                    ),
                ),
                Turn(
                    _INSURER,
                    "Dear Alex Rivera,\n\nwe have received your claim and will answer within ten working days. Please quote 55-2031.\n\nSteadfast Insurance",
                    26,
                ),
                Turn(
                    _INSURER,
                    "Dear Alex Rivera,\n\nyour claim is accepted. 801.00 will reach your account this week.\n\nSteadfast Insurance",
                    200,
                ),
                Turn(ALEX, "That was quick. Thank you!\n\nAlex Rivera", 10),
            ],
            folder="Archive",
        ),
    ]


def _clubs() -> list[Letter]:
    return [
        *conversation(
            "book-club",
            "Book for next month?",
            35,
            [
                Turn(
                    _INGRID,
                    "Two candidates: the lighthouse novel (212 pages) or the history of salt (480). Be honest about your evenings.\n\nIngrid",
                ),
                Turn(_MATEO, "Lighthouse.\n\nMateo", 3),
                Turn(ALEX, "Salt, but I know when I am beaten. Lighthouse.\n\nAlex", 5),
                Turn(_INGRID, "Lighthouse it is. We meet at Mateo's, Thursday 19:30.\n\nIngrid", 20),
            ],
            labels=("books",),
        ),
        *conversation(
            "book-club-notes",
            "Lighthouse: questions for Thursday",
            2.7,
            [
                Turn(
                    _MATEO,
                    "1. Who turns off the lamp?\n2. Is the keeper's diary true?\n3. Why are there no birds?\n\nMateo",
                ),
                Turn(_INGRID, "4. What would you have carried up the stairs?\n\nIngrid", 6),
            ],
            also=[ALEX],
            labels=("books",),
        ),
        *conversation(
            "piano",
            "Piano lesson moved to Wednesday",
            10.4,
            [
                Turn(
                    _TEACHER,
                    "Lieber Alex,\n\nich muss die Stunde auf Mittwoch, 18 Uhr, verlegen. Passt das? Bitte Takt 33 bis 48 üben.\n\nViele Grüße\nAnton Weiß",
                ),
                Turn(ALEX, "Lieber Herr Weiß,\n\nMittwoch passt. Takt 41 macht mir noch Sorgen.\n\nAlex", 4),
            ],
            charset="iso-8859-1",
        ),
        *conversation(
            "sam-garden",
            "Too many tomatoes",
            70,
            [
                Turn(
                    SAM,
                    "I have eleven kilos of tomatoes and no freezer. Help yourself, the crate is in the kitchen.\n\nSam",
                ),
                Turn(ALEX, "Took three. You get the first glass of sauce.\n\nAlex", 5),
                Turn(SAM, "Best trade of the year.\n\nSam", 50),
            ],
        ),
    ]


def _trade() -> list[Letter]:
    return [
        *conversation(
            "sensorconf",
            "Your talk at SensorConf",
            48,
            [
                Turn(
                    _CONFERENCE,
                    'Dear Alex, dear Sam,\n\nwe are happy to accept "Humidity, honestly". 25 minutes plus questions, day two, hall B. Please confirm within two weeks.\n\nSensorConf Program Team',
                ),
                Turn(ALEX, "We confirm with pleasure.\n\nAlex Rivera", 16),
                Turn(SAM, "And I bring the frozen sensor for the demo.\n\nSam", 2),
                Turn(
                    _CONFERENCE,
                    "Wonderful. Speaker kit attached; slides by the 1st.\n\nSensorConf",
                    40,
                    (csv("schedule.csv", "time,hall,talk", "10:00,A,Opening", "11:30,B,Humidity honestly"),),
                ),
            ],
            labels=("conference",),
        ),
        *conversation(
            "podcast",
            "A conversation for Small Factory?",
            23,
            [
                Turn(
                    _PODCAST,
                    "Hi Alex,\n\nI host a podcast about people who still make things. Forty minutes, no preparation, good coffee. Are you in?\n\nFay",
                ),
                Turn(ALEX, "Hi Fay,\n\ngladly, after the launch. The first week of next month?\n\nAlex", 28),
                Turn(_PODCAST, "Perfect. I'll send three dates.\n\nFay", 3),
                Turn(_PODCAST, "Monday 10:00, Wednesday 14:00 or Friday 9:00?\n\nFay", 430),
            ],
        ),
        *conversation(
            "sam-datasheet",
            "Datasheet: one wrong unit",
            8.8,
            [
                Turn(SAM, "Page 3 says 40 mA in sleep. It is 40 µA. Shall I fix and re-upload?\n\nSam"),
                Turn(ALEX, "Yes, at once, and thank you. That would have been an expensive m.\n\nAlex", 1),
                Turn(SAM, "Done, version 1.2 is live.\n\nSam", 2),
            ],
            labels=("aurora",),
        ),
    ]
