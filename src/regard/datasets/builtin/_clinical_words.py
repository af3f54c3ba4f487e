"""The words of `clinical`: fictional findings and filling."""

from __future__ import annotations

from collections.abc import Mapping

SIDES = ("left", "right")
FINDINGS = (
    "consolidation in the {side} lower lobe",
    "coarse crackling at the {side} base",
    "bronchial breathing over the {side} lung",
    "dullness to percussion at the {side} base",
    "a new infiltrate in the {side} upper zone",
    "an air bronchogram behind the heart",
    "a patchy opacity in the {side} mid zone",
    "purulent sputum",
    "rusty sputum",
    "pleuritic pain on the {side}",
)
"""Findings that speak for pneumonia."""
FRAMES = (
    "There is {it}.",
    "Today {it} was noted.",
    "Examination reveals {it}.",
    "We found {it}.",
    "The report describes {it}.",
    "On review we see {it}.",
)
"""The same for what is present and what is denied: only the negation tells them apart."""
NEGATIONS = ("no evidence of", "no sign of", "nothing to suggest", "no")
OTHER_FINDINGS = (
    "ankle oedema",
    "abdominal tenderness",
    "a fracture of the {side} wrist",
    "neck stiffness",
    "a rash on the {side} forearm",
    "swelling of the calf on the {side}",
    "retinal haemorrhage",
    "hearing loss on the {side}",
    "an effusion of the {side} knee",
    "focal weakness of the {side} arm",
    "enlargement of the thyroid",
    "limitation of movement in the {side} shoulder",
)
"""Findings that have nothing to do with it."""
REMARKS = (
    "Blood pressure {systolic}/{diastolic}, pulse {pulse} and regular.",
    "Sodium {sodium}, potassium 4.{digit}, creatinine {creatinine}.",
    "Appetite is fair and sleep is {sleep}.",
    "Walks {metres} metres with a stick.",
    "The {relative} had pneumonia in {year}.",
    "An old scar from an operation in {year} is unchanged.",
    "Vaccinated against influenza in {month}.",
    "Medication reviewed; {drug} continued.",
    "The patient asks when travel will be possible again.",
    "The {relative} was present and had questions about {drug}.",
    "Weight {weight} kg, down {digit} kg since {month}.",
    "Next appointment in {weeks} weeks.",
    "Seen together with the physiotherapist.",
    "Dietary advice was given.",
)
CONDITIONS = (
    "type 2 diabetes",
    "hypertension",
    "atrial fibrillation",
    "osteoarthritis",
    "migraine",
    "hypothyroidism",
    "chronic kidney disease",
    "gout",
    "asthma",
    "coronary heart disease",
    "epilepsy",
    "psoriasis",
)
SITES = ("Eastmere", "Northgate")
"""By label: hospitals whose name gives the label away in the train split, if asked for."""
SLOTS: Mapping[str, tuple[str, ...]] = {
    "side": SIDES,
    "systolic": ("112", "118", "124", "128", "131", "136", "142", "148"),
    "diastolic": ("64", "68", "72", "76", "81", "85"),
    "pulse": ("58", "63", "66", "71", "74", "79", "84", "88", "92"),
    "sodium": ("134", "136", "138", "139", "141", "143"),
    "digit": ("1", "2", "3", "4", "5"),
    "creatinine": ("61", "70", "77", "84", "88", "95", "103"),
    "sleep": ("undisturbed", "poor", "better than last week", "good"),
    "metres": ("50", "100", "150", "200", "300"),
    "relative": ("mother", "father", "daughter", "son", "brother", "neighbour"),
    "year": ("1998", "2003", "2007", "2011", "2014", "2017", "2019"),
    "month": ("January", "March", "May", "September", "October", "November"),
    "drug": ("metformin", "ramipril", "levothyroxine", "allopurinol", "bisoprolol", "paracetamol", "atorvastatin"),
    "weight": ("54", "58", "63", "67", "71", "76", "80", "88"),
    "weeks": ("two", "three", "four", "six", "eight"),
}
