"""`regard new explainer NAME`: a commented skeleton that passes the battery, and its test."""

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

TEST = Template('''\
"""The battery checks what every $kind owes; add what only yours can promise: a known answer, a conservation law."""

from __future__ import annotations

from $name import $name
from regard.testing.battery import check_$kind


def test_${name}_keeps_the_rules() -> None:
    check_$kind($name)
''')

TEMPLATES = {"explainer": EXPLAINER, "metric": METRIC}


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
