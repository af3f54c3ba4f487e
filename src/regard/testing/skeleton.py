"""`regard new KIND NAME`: a commented skeleton that passes the battery, and its test."""

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

from regard.errors import InputError, UnknownName, phrase
from regard.store.blobs import write_output

EXPLAINER = Template('''\
"""$title: say in one line what it attributes by."""

from __future__ import annotations

import numpy as np

from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


# needs: what you ask the case for: "attention", "gradient" (slopes_at), "removal" (case.removed).
# signed: True if a negative value means "speaks against the prediction".
# misleads: when should one not trust it? Shown beside every number.
@explainer(
    needs=("removal",),
    signed=True,
    cite="",
    formula="r_j = f(x) - f(x without j)",
    cost="1 forward per unit",
    misleads="",
)
def $name(case: Case, *, operator: str | None = None) -> Relevance:
    """One sentence that ends with a full stop.

    Returns one value per unit of every example. Name the scale, the sign, and the conservation law.
    Parameters are keyword-only, have JSON values and defaults; a command takes them as $name:parameter=value.
    """
    # A case holds a few examples, one model, one objective:
    #   case.units[i]       the units of example i; .free marks those that may carry relevance, special ones get 0
    #   case.base()         the model undisturbed; .value is log-odds like, .probability is 0..1
    #   case.removed(drops) drops[i] is (variants, n_i) of bools; rows of example i: answers.rows(i)
    #   case.attention(i)   the attention sites; case.rng(i, "...") random numbers; slopes_at in regard.desk.questions
    # Ask for all examples at once: requests are batched, and shared with the other methods.
    base = case.base()
    drops = [np.eye(len(units), dtype=np.bool_)[units.free] for units in case.units]
    answers = case.removed(drops, operator)
    rows = []
    for i, units in enumerate(case.units):
        values = np.zeros(len(units))
        values[units.free] = base.value[i] - answers.value[answers.rows(i)]
        rows.append(values)
    return Relevance.of("$name", case.ids, rows, signed=True)
''')

METRIC = Template('''\
"""$title: say in one line what it judges."""

from __future__ import annotations

import numpy as np

from regard.measures.ranking import top_k
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import metric


# better: "higher", "lower" or "none". baseline: the method every other has to beat. ceiling: the best one can hope for.
@metric(better="higher", needs=("removal",), cite="", formula="f(x) - f(x without its top unit)", misleads="")
def $name(case: Case, relevance: Relevance, *, operator: str | None = None) -> Score:
    """One sentence that ends with a full stop.

    Returns one value per example, NaN where it is undefined (counted, never averaged in). Name the range.
    """
    # relevance[i] is (n_i,) for example i; case is what the explainer saw (see `regard new explainer`).
    # `where` names the setting, `curves` keeps (examples, points) arrays for later.
    chosen = operator or case.operators[0]
    drops = []
    for i, units in enumerate(case.units):
        top = np.where(units.free, relevance[i], -np.inf)
        drops.append(np.logical_and(top_k(top, 1), units.free)[None])
    dropped = case.removed(drops, chosen)
    defined = np.array([units.free.any() for units in case.units])
    values = np.where(defined, case.base().value - dropped.value, np.nan)
    return Score("$name", relevance.method, case.ids, values, "higher", {"operator": chosen})
''')

PERTURBATION = Template('''\
"""$title: say in one line what this noise does to an input."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.script import Script, chosen
from regard.records import Example, Perturbed
from regard.registry import perturbation


# modality: "text", "image", "audio", "series" or "table". scale: what severities 1 to 5 mean.
# The noise must keep the label: a human would still give the same answer.
@perturbation(modality="text", family="character", scale="5, 10, 20, 35, 50 % of the words", misleads="")
def $name(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Write one letter of some words twice.

    Draw random numbers from `rng` only: the same example, severity and seed must give the same change.
    Own parameters are keyword-only, have JSON values and defaults; a command takes them as $name:parameter=value.
    """
    # script.words: the words of the text. `chosen` draws as many of them as the severity asks for.
    # with_words replaces some words and remembers where each word of the new text comes from.
    script = Script.of(example)
    able = [i for i, word in enumerate(script.words) if word.isalpha()]
    changes = {}
    for i in chosen(able, severity, rng, len(script.words)):
        word = script.words[i]
        k = rng.below(len(word))
        changes[i] = word[: k + 1] + word[k:]
    return script.with_words(changes)
''')

ATTACK = Template('''\
"""$title: say in one line how this attack searches."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks import Search, Text, lockstep_search
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


# access: what the attacker sees: "none", "scores" or "gradients". role: "baseline" for one that others must beat.
@attack(access="scores", modality=("text",), cite="", formula="delete one word at a time", cost="1 forward per word")
def $name(case: Case, threat: Threat) -> Sequence[Attacked]:
    """One sentence that ends with a full stop.

    Returns one record per example. The threat holds goal, constraints and query budget, the same for every attack.
    """

    # A search is a generator for one example: it yields changed texts and receives their scores (higher: closer to
    # the goal). lockstep_search batches the searches of all examples, counts queries, checks the constraints, and
    # ends a search that has succeeded.
    #   text.words   the words; a changed text is a tuple of the same length, "" for a deleted word
    #   text.open    positions that the threat lets you change; text.most: how many of them at once
    #   case.rng(i, "...") gives random numbers of example i
    def search(i: int, text: Text) -> Search:
        yield [(*text.words[:k], "", *text.words[k + 1 :]) for k in text.open]

    return lockstep_search(case, threat, search, "$name")
''')

QUESTION = Template('''\
"""$title: say in one line what this question asks about a map."""

from __future__ import annotations

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.mean_tests import Test
from regard.registry import question

MARGIN = 0.3
"""Fix it before you look at the data."""


# rule: when the answer is yes, no or not settled. not_claimed: what a yes does not mean. Both stand in the report.
@question(
    rule="Yes if the mean largest weight is above 0.3, no if it is below.",
    not_claimed="A sharp map may still point at the wrong words.",
    margins={"largest weight": MARGIN},
)
def $name(evidence: Evidence) -> Draft | None:
    """Does the map have a clear peak?

    Returns None where nothing was measured. Holm's procedure corrects the p of all questions of this kind together;
    an answer that does not survive becomes "not settled".
    """
    # evidence.of(NAME) has one value per example, NaN where undefined. `regard experiments RUN` lists the quantities;
    # evidence.mean knows the clusters (one patient, several notes) and how often the run was judged before.
    if not evidence.measured("largest_weight"):
        return None
    mean = evidence.mean(evidence.of("largest_weight"), bounds=(0.0, 1.0))
    yes, no = (Test("largest weight", claim, MARGIN, mean) for claim in ("above", "below"))
    if yes.p <= no.p:
        sentence = f"The largest weight is {mean.estimate:.2f} on average."
        return Draft("$name", "holds", yes.p, sentence, "$name.yes", tests=(yes,), rests=(yes,))
    sentence = f"The largest weight is only {mean.estimate:.2f} on average."
    return Draft("$name", "fails", no.p, sentence, "$name.no", tests=(no,), rests=(no,))
''')

TEST = Template('''\
"""The battery checks what every $kind owes; add what only yours can promise: a known answer, a conservation law."""

from __future__ import annotations

from $name import $name
from regard.testing.battery import check_$kind


def test_${name}_keeps_the_rules() -> None:
    check_$kind($name)
''')

TEMPLATES = {
    "explainer": EXPLAINER,
    "metric": METRIC,
    "perturbation": PERTURBATION,
    "attack": ATTACK,
    "question": QUESTION,
}


def new_method(kind: str, name: str, directory: Path) -> list[Path]:
    """Write NAME.py and test_NAME.py into `directory` and return their paths. Never overwrite a file."""
    if kind not in TEMPLATES:
        raise UnknownName(phrase("errors.testing.kind_new_method"), kind, TEMPLATES)
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or name.startswith("_"):
        raise InputError(
            phrase("errors.testing.name_name", name=repr(name)),
            expected=phrase("errors.testing.lower_case_python_name_like"),
            got=name,
        )
    fields = {"name": name, "kind": kind, "title": name.replace("_", " ").capitalize()}
    texts = {directory / f"{name}.py": TEMPLATES[kind], directory / f"test_{name}.py": TEST}
    for path in texts:
        if path.exists():
            raise InputError(
                str(path),
                expected=phrase("errors.common.new_file"),
                got=phrase("errors.testing.existing_file"),
                remedy=phrase("errors.testing.choose_another_name"),
            )
    for path, template in texts.items():
        write_output(path, template.substitute(fields).encode())
    return list(texts)
