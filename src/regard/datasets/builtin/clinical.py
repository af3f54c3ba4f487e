"""`clinical`: fictional clinical notes, with and without pneumonia."""

from __future__ import annotations

import re

import numpy as np

from regard.datasets.builtin._lexicon import lexicon
from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.datasets.marked import silent, unmarked
from regard.errors import InputError, phrase
from regard.registry import method

WORDS = lexicon("clinical")


@method("dataset", modality="text", licence="Apache-2.0", package="", real=False)
def clinical(
    *,
    split: str = "test",
    n: int = 600,
    seed: int = 0,
    notes: int = 3,
    evidence: int = 1,
    distractors: int = 3,
    shortcut: float = 0.0,
) -> Examples:
    """Generated clinical notes without real persons: findings of pneumonia denied (0) or present (1).

    Rationale = the decisive findings, with their negation ("no evidence of consolidation in the left lower lobe").
    notes: per patient; the patient is the group and belongs to one split. evidence: decisive findings, all consistent.
    distractors: other findings, each randomly present or denied, and as many remarks (a mother's pneumonia, blood
    pressure). shortcut: share of notes that name a hospital, which agrees with the label in the train split and is
    random elsewhere (slice "shortcut": none, agrees, disagrees).

    >>> data = clinical(n=4)
    >>> one = data[0]
    >>> data.labels[one.label], [one.inputs["text"][int(a):int(b)] for a, b in one.rationale]
    ('no pneumonia', ['no sign of purulent sputum'])
    """
    share("clinical.shortcut", shortcut)
    most = min(len(WORDS.other_findings), len(WORDS.remarks))
    if notes < 1 or not 1 <= evidence <= len(WORDS.findings) or not 0 <= distractors <= most:
        expected = phrase("errors.datasets.notes_at_least_pieces_evidence", n=len(WORDS.findings), most=most)
        problem = f"notes={notes}, evidence={evidence}, distractors={distractors}"
        raise InputError("clinical", expected=expected, got=problem)

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        patient = f"{int(rng.integers(100_000, 1_000_000))}"

        def make() -> list[Draft]:
            age, sex = int(rng.integers(24, 91)), ("man", "woman")[int(rng.integers(2))]
            history = " and ".join(WORDS.conditions[i] for i in rng.permutation(len(WORDS.conditions))[:2])
            day, drafts = 0, []
            for i in range(notes):
                day += int(rng.integers(1, 9))
                label = (number * notes + i) % 2 if notes % 2 else (number + i) % 2
                site, slices = _site(rng, label, split, shortcut)
                opening = f"Patient {patient}, day {day}{site}. {age}-year-old {sex} with {history}."
                body = _body(rng, label, evidence, distractors)
                text, spans = unmarked(" ".join([opening, *(body[i] for i in rng.permutation(len(body)))]))
                drafts.append(Draft({"text": text}, label, spans, slices))
            return drafts

        return Drawn(patient, make, group=f"patient {patient}")

    settings = (notes, evidence, distractors, shortcut)
    items = generated("clinical", draw, split=split, n=n, seed=seed, settings=settings)
    provenance = note("clinical_notes", n, split=split, seed=seed, known="finding")
    return Examples("clinical", items, ("no pneumonia", "pneumonia"), (provenance,))


def truth(text: str) -> int | None:
    """Return the label that the findings of a note determine; None if they are absent or contradictory.

    >>> truth("There is rusty sputum."), truth("We found no sign of rusty sputum."), truth("The mother had pneumonia.")
    (1, 0, None)
    """
    labels = set()
    for sentence in re.split(r"(?<=\.)\s+", text):
        if re.search(_FINDING, sentence, re.IGNORECASE):
            labels.add(0 if re.search(r"\b(no|nothing)\b", sentence, re.IGNORECASE) else 1)
    return labels.pop() if len(labels) == 1 else None


_FINDING = "|".join(re.sub(r"^an? ", "", f).replace("{side}", "(left|right)") for f in WORDS.findings)


def _body(rng: np.random.Generator, label: int, evidence: int, distractors: int) -> list[str]:
    """Return sentences, with the decisive findings in brackets."""
    sentences = []
    for i in rng.permutation(len(WORDS.findings))[:evidence]:
        sentences.append(_said(rng, WORDS.findings[i], label))
    for i in rng.permutation(len(WORDS.other_findings))[:distractors]:
        sentences.append(silent(_said(rng, WORDS.other_findings[i], int(rng.integers(2)))))
    for i in rng.permutation(len(WORDS.remarks))[:distractors]:
        sentences.append(_filled(rng, WORDS.remarks[i]))
    return sentences


def _said(rng: np.random.Generator, finding: str, present: int) -> str:
    frame: str = WORDS.frames[int(rng.integers(len(WORDS.frames)))]
    what = _filled(rng, finding)
    if not present:
        negation = WORDS.negations[int(rng.integers(len(WORDS.negations)))]
        what = f"{negation} {re.sub('^an? ', '', what) if negation == 'no' else what}"
    return frame.replace("{it}", f"[{what}]")


def _filled(rng: np.random.Generator, text: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: WORDS.slots[m[1]][int(rng.integers(len(WORDS.slots[m[1]])))], text)


def _site(rng: np.random.Generator, label: int, split: str, shortcut: float) -> tuple[str, dict[str, str]]:
    """Return the hospital that the note names, if any."""
    if not shortcut:
        return "", {}
    if rng.random() >= shortcut:
        return "", {"shortcut": "none"}
    side = label if split == "train" else int(rng.integers(2))
    return f", {WORDS.sites[side]}", {"shortcut": "agrees" if side == label else "disagrees"}
