"""The cast. Alex and Sam own the two sample mailboxes; the others write to them."""

from __future__ import annotations

from postroom.model.address import Address

ALEX = Address("alex@demo.example", "Alex Rivera")
SAM = Address("sam@demo.example", "Sam Okonkwo")
OWNERS = (ALEX, SAM)

MAYA = Address("maya.lindqvist@demo.example", "Maya Lindqvist")
TOMAS = Address("tomas.novak@demo.example", "Tomáš Novák")
PRIYA = Address("priya.raman@aurora-labs.example", "Priya Raman")
JONAS = Address("jonas.keller@keller-bau.example", "Jonas Keller")
CLAIRE = Address("claire.dubois@atelier-dubois.example", "Claire Dubois")
YUKI = Address("tanaka.yuki@hoshizora.example", "田中由紀")
LUCIA = Address("lucia.fernandez@viajes-sol.example", "Lucía Fernández")
OMAR = Address("omar@qamar-design.example", "عمر حداد")
DMITRI = Address("d.sokolov@neva-print.example", "Дмитрий Соколов")
WEI = Address("chen.wei@jade-river.example", "陈伟")
NADIA = Address("nadia@harborlegal.example", "Nadia Petersen")
BEN = Address("ben.rivera@family.example", "Ben Rivera")
ROSA = Address("rosa.rivera@family.example", "Rosa Rivera")
KENJI = Address("kenji@runclub.example", "Kenji Mori")
GRACE = Address("grace.adeyemi@brightside-schools.example", "Grace Adeyemi")
HELEN = Address("helen@oakstreet-dental.example", "Oak Street Dental")
LIAM = Address("liam.byrne@greenline-energy.example", "Liam Byrne")
ZOE = Address("zoe.martin@candidates.example", "Zoë Martin")
