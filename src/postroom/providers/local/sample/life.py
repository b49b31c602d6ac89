"""Conversations outside work: family, school, the running club, the dentist."""
# ruff: noqa: E501 - a paragraph of a mail is one line, as its author typed it

from __future__ import annotations

from postroom.providers.local.sample.files import csv, pdf, png
from postroom.providers.local.sample.letters import Letter, Turn, conversation
from postroom.providers.local.sample.people import ALEX, BEN, GRACE, HELEN, KENJI, ROSA, SAM


def letters() -> list[Letter]:
    return [*_family(), *_around_town()]


def _family() -> list[Letter]:
    return [
        *conversation(
            "mum-birthday",
            "Mum's 70th",
            90,
            [
                Turn(BEN, "We have five weeks. Restaurant or garden?\n\nBen"),
                Turn(ROSA, "Garden!! And no speeches longer than two minutes, Ben.\n\nRosa", 2),
                Turn(ALEX, "Garden. I bring the long tables from the office.\n\nAlex", 5),
                Turn(
                    BEN,
                    "Then I do the grill, Rosa the cake. Guest list attached, 34 people.\n\nBen",
                    22,
                    (csv("guests.csv", "name,coming", "Aunt Inés,yes", "Uncle Paul,maybe", "The Okafors,yes"),),
                ),
                Turn(ROSA, "Aunt Inés brings her accordion. You have been warned.\n\nRosa", 8),
            ],
            labels=("family",),
            folder="Archive",
        ),
        *conversation(
            "photos-garden",
            "Photos from the garden",
            54,
            [
                Turn(
                    ROSA,
                    "The best three. The one with the accordion I keep for blackmail.\n\nRosa",
                    files=(
                        png("garden-1.png", 140, 90, (70, 160, 80)),
                        png("garden-2.png", 140, 90, (200, 180, 90)),
                        png("garden-3.png", 140, 90, (90, 140, 60)),
                    ),
                ),
                Turn(ALEX, "Number two goes on the wall. Thank you!\n\nAlex", 14),
            ],
            also=[BEN],
            labels=("family",),
            starred=True,
        ),
        *conversation(
            "ben-car",
            "Borrowing your car on the 8th",
            22,
            [
                Turn(BEN, "May I have the car on the 8th? Moving a wardrobe, back by six.\n\nBen"),
                Turn(ALEX, "Sure. Mind the left mirror, it is glued.\n\nAlex", 3),
                Turn(BEN, "The mirror survived. The wardrobe did not.\n\nBen", 190),
            ],
            labels=("family",),
        ),
        *conversation(
            "rosa-weekend",
            "Sunday?",
            1.9,
            [
                Turn(
                    ROSA,
                    "Are you coming on Sunday? Mum makes paella, Ben says he makes paella, so there will be paella.\n\nRosa",
                ),
                Turn(ALEX, "Coming, with dessert.\n\nAlex", 5),
                Turn(ROSA, "Not the one with the raisins.\n\nRosa", 1),
            ],
            labels=("family",),
        ),
    ]


def _around_town() -> list[Letter]:
    return [
        *conversation(
            "school-fair",
            "School fair: volunteers for the coffee stand",
            38,
            [
                Turn(
                    GRACE,
                    "Dear parents,\n\nwe still need four people for the coffee stand, 10:00 to 14:00. Who can take an hour?\n\nGrace Adeyemi\nBrightside Schools",
                ),
                Turn(ALEX, "I can do 11 to 12.\n\nAlex", 9),
                Turn(GRACE, "Thank you, Alex! That completes the list.\n\nGrace", 20),
            ],
            labels=("school",),
        ),
        *conversation(
            "school-trip",
            "Class trip to the sea: consent form",
            4.3,
            [
                Turn(
                    GRACE,
                    "Dear parents,\n\nplease return the signed form by Friday. Packing list on page two; no phones, one torch.\n\nGrace Adeyemi",
                    files=(pdf("consent-form.pdf", "Class trip to the sea", "Signature of a parent: ____________"),),
                ),
            ],
            also=[ALEX],
            labels=("school",),
            starred=True,
        ),
        *conversation(
            "runclub-10k",
            "10k on Saturday: meeting point",
            16,
            [
                Turn(KENJI, "We meet at 8:15 at the north gate, bibs are with me. Rain or shine.\n\nKenji"),
                Turn(SAM, "In. Who paces 5:20?\n\nSam", 2),
                Turn(ALEX, "I will, until kilometre seven. After that you are on your own.\n\nAlex", 3),
                Turn(KENJI, "Results: Sam 52:41, Alex 53:02, me 58:00 with a stop for coffee.\n\nKenji", 90),
            ],
            labels=("running",),
        ),
        *conversation(
            "runclub-shoes",
            "Group order: running shoes",
            111,
            [
                Turn(KENJI, "With ten pairs we get 20 % off. Send me model and size by Sunday.\n\nKenji"),
                Turn(ALEX, "Cirrus 4, size 43, please.\n\nAlex", 30),
                Turn(SAM, "Cirrus 4 in 45.\n\nSam", 2),
            ],
            folder="Archive",
            labels=("running",),
        ),
        *conversation(
            "dentist",
            "Your appointment at Oak Street Dental",
            14,
            [
                Turn(
                    HELEN,
                    "Dear Alex Rivera,\n\nyour check-up is due. We have kept Tuesday the 24th, 8:30, for you. Reply YES to confirm.\n\nOak Street Dental",
                ),
                Turn(ALEX, "YES\n\nAlex Rivera", 6),
                Turn(HELEN, "Thank you, see you on Tuesday the 24th at 8:30.\n\nOak Street Dental", 1),
            ],
        ),
        *conversation(
            "library",
            "Neighbourhood library: shelf to give away",
            73,
            [
                Turn(KENJI, "The library gives away a shelf, 2 m by 80 cm, oak. First come.\n\nKenji"),
                Turn(SAM, "Mine! I can fetch it tonight.\n\nSam", 1),
            ],
            also=[ALEX],
        ),
    ]
