"""The words of `aspects`; {place} and the like are filled in. Pairs are (negative, positive)."""

from __future__ import annotations

from collections.abc import Mapping

OPINIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "location": (
        (
            "the hotel is {far} minutes by bus from {place}",
            "{place} is {far} minutes away on foot, mostly uphill",
            "there is nothing but {dull} around the hotel",
            "you cannot reach {place} without a taxi",
            "we were stranded on the edge of town, next to {dull}",
            "it takes two changes of train to get to {place}",
            "the hotel is hard to find and close to nothing",
        ),
        (
            "the hotel is {near} minutes on foot from {place}",
            "{place} is just around the corner",
            "everything we wanted to see was within walking distance",
            "you can see {place} from the front door",
            "the tram to {place} stops right outside",
            "we never needed a taxi to get to {place}",
            "the hotel stands in the middle of things, next to {place}",
        ),
    ),
    "cleanliness": (
        (
            "there were stains on {linen}",
            "we found hair in {basin}",
            "{basin} had mould along the edges",
            "a layer of dust covered {furniture}",
            "{linen} had not been changed since the last guest",
            "crumbs and old receipts lay under {furniture}",
            "{basin} smelled of drains",
        ),
        (
            "{linen} were fresh every morning",
            "there was not a speck of dust on {furniture}",
            "{basin} was scrubbed and gleaming",
            "you could have eaten off {furniture}",
            "the maids polished {furniture} daily",
            "{linen} smelled of fresh laundry",
            "{basin} sparkled when we arrived",
        ),
    ),
    "price": (
        (
            "they wanted {dear} euros for {extra}",
            "{extra} cost extra, and not a little",
            "we paid far too much for {nights} nights",
            "for {dear} euros a night I expected more than this",
            "the final bill was a nasty surprise",
            "they charged us twice for {extra}",
            "a place like this is not worth half of what they ask",
        ),
        (
            "{extra} was included without a surcharge",
            "we paid only {cheap} euros a night",
            "for {cheap} euros you will not find anything better",
            "the final bill was lower than we had feared",
            "they gave us a discount for {nights} nights",
            "it is a bargain at this time of year",
            "nothing else in town was as affordable",
        ),
    ),
}
"""Clauses that name the aspect without its name, and leave no doubt."""
TERMS = {
    "location": ("location", "neighbourhood", "position of the hotel", "part of town", "area"),
    "cleanliness": ("cleanliness", "hygiene", "housekeeping", "state of the bathroom", "tidiness"),
    "price": ("price", "value for money", "room rate", "cost of the stay", "rate we paid"),
}
VERDICTS = (
    ("dreadful", "disappointing", "poor", "awful", "a let-down", "below average", "unacceptable", "a bad joke"),
    ("excellent", "superb", "wonderful", "impressive", "a delight", "above average", "hard to beat", "a real plus"),
)
"""Words that say nothing about which aspect is meant, only whether it is good."""
NEGATIONS = ("anything but", "by no means", "far from", "not what I would call")
OTHERS = (
    (
        "the breakfast was cold and sparse",
        "the man at the desk was rude to us",
        "the wireless network failed every evening",
        "the lift was out of order for days",
        "we could hear every word from the next room",
        "the mattress was lumpy and far too soft",
        "nobody answered the telephone at reception",
        "the coffee tasted of nothing at all",
    ),
    (
        "the breakfast was generous and varied",
        "the woman at the desk was charming",
        "the wireless network was fast everywhere",
        "the garden was a lovely place to read",
        "the room was wonderfully quiet at night",
        "the mattress was firm and comfortable",
        "somebody always helped with the luggage",
        "the coffee was the best of the whole trip",
    ),
)
"""Opinions that nobody asks for."""
FILLINGS = (
    "we stayed for {nights} nights in {month}",
    "my {relative} had booked the room by telephone",
    "we arrived late because of a delayed train",
    "the hotel has {floors} floors and a small lift",
    "our room looked out on a courtyard",
    "I was there for a conference with two colleagues",
    "it was our second visit to the city",
    "there is a reading room on the first floor",
    "the building used to be a {building}",
    "we shared a table with a couple from {country}",
    "it rained on most days of our stay",
    "breakfast is served until ten",
    "my {relative} left a scarf behind and wrote to them later",
    "we travelled on to {country} afterwards",
)
JOINTS = (", and ", "; ", ", while ", " - ")
SLOTS: Mapping[str, tuple[str, ...]] = {
    "place": (
        "the cathedral",
        "the old town",
        "the harbour",
        "the main station",
        "the castle",
        "the market square",
        "the beach",
        "the opera",
        "the botanical garden",
        "the river",
        "the museum quarter",
        "the university",
        "the town hall",
        "the ferry pier",
    ),
    "dull": ("car parks", "warehouses", "a motorway", "building sites", "petrol stations", "empty offices"),
    "far": ("forty", "fifty", "fifty-five", "seventy", "eighty", "ninety"),
    "near": ("two", "three", "four", "five", "six"),
    "linen": ("the sheets", "the towels", "the pillowcases", "the bath mats", "the curtains", "the blankets"),
    "basin": ("the shower", "the bathtub", "the sink", "the washbasin", "the toilet"),
    "furniture": ("the desk", "the bedside table", "the wardrobe", "the window sill", "the floor", "the shelves"),
    "dear": ("two hundred", "two hundred and forty", "three hundred", "three hundred and ten", "four hundred"),
    "cheap": ("thirty-five", "forty", "forty-five", "fifty", "fifty-five"),
    "extra": ("parking", "a second key", "the use of the sauna", "a late check-out", "an extra bed", "luggage storage"),
    "nights": ("two", "three", "four", "five", "six", "seven"),
    "month": ("January", "March", "April", "June", "August", "September", "October", "December"),
    "relative": ("wife", "husband", "sister", "brother", "cousin", "daughter", "father", "aunt"),
    "floors": ("four", "five", "six", "seven", "eight"),
    "building": ("post office", "school", "mill", "bank", "monastery", "tobacco factory"),
    "country": ("Norway", "Portugal", "Canada", "Ireland", "Austria", "Japan", "Chile", "Poland"),
}
