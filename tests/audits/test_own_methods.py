"""A method of one's own: as an object, by its name in this process, and as file.py:function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_toy import TorchToy

from regard import registry
from regard.audits.audit import audit
from regard.audits.explain import explain
from regard.cli.model_options import listed, own_methods
from regard.errors import InputError, UnknownName
from regard.judge.verdicts import verdicts
from regard.protocols import Case
from regard.records import Example, Relevance, Spec
from regard.registry import explainer, find, method_spec, names
from regard.surveys.noise_table import noise_table, specs_of

TEXTS = ["a wonderful film", "a dull and dreadful film", "wonderful indeed", "dreadful"]
FILE = """
import numpy as np
from regard.records import Relevance
from regard.registry import explainer

@explainer(formula="r_j = scale")
def constant_of_file(case, *, scale: float = 1.0):
    \"\"\"The same number for every unit.\"\"\"
    return Relevance.of("constant_of_file", case.ids, [np.where(u.free, scale, 0.0) for u in case.units])

def plain(case):
    return None
"""


@explainer(formula="r_j = n - j")
def falling(case: Case, *, step: float = 1.0) -> Relevance:
    """Less and less from the first unit to the last."""
    rows = [np.where(u.free, step * np.arange(len(u), 0, -1.0), 0.0) for u in case.units]
    return Relevance.of("falling", case.ids, rows)


def test_object_and_name_give_the_same() -> None:
    explained = explain(TorchToy(), TEXTS[:1], [falling])
    named = explain(TorchToy(), TEXTS[:1], ["falling"])
    doubled = explain(TorchToy(), TEXTS[:1], ["falling:step=2.0"])
    assert explained.relevance["falling"][0].tolist() == named.relevance["falling"][0].tolist()
    (twice,) = doubled.relevance.values()
    assert twice[0].tolist() == pytest.approx([2 * x for x in named.relevance["falling"][0].tolist()])


def test_method_is_audited_beside_ours(tmp_path: Path) -> None:
    run = audit(
        TorchToy(), TEXTS, out=tmp_path, explainers=[falling, "random"], metrics=["comprehensiveness"], budget="none"
    )
    assert {s.method for s in run.summaries()} >= {"falling", "random"}


def test_it_is_found_and_not_listed() -> None:
    assert method_spec(falling) == Spec("explainer", "falling")
    assert find("explainer", "falling") is falling
    assert "falling" not in names("explainer")


def test_names_of_ours_are_taken() -> None:
    @explainer(formula="r_j = 0")
    def random(case: Case) -> Relevance:
        """Not the real one."""
        raise AssertionError

    with pytest.raises(InputError):
        method_spec(random)
    assert find("explainer", "random") is not random
    with pytest.raises(InputError):
        method_spec(len)


def test_file_and_function_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    texts = listed(f"attention,{file}:constant_of_file:scale=3.0,random")
    assert own_methods("explainer", texts) == ["attention", "constant_of_file:scale=3.0", "random"]
    explained = explain(TorchToy(), TEXTS[:1], ["constant_of_file:scale=3.0"])
    (relevance,) = explained.relevance.values()
    assert set(relevance[0].tolist()) == {0.0, 3.0}


@pytest.mark.parametrize("name", ["plain", "no_such", "np"])
def test_function_without_its_decorator_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    with pytest.raises(UnknownName, match="constant_of_file"):
        own_methods("explainer", [f"{tmp_path}/mine.py:{name}"])


def test_missing_or_broken_file_is_one_error(tmp_path: Path) -> None:
    broken: Any = tmp_path / "broken.py"
    broken.write_text("raise SystemExit(0)")
    for name in ("missing.py", "broken.py"):
        with pytest.raises(InputError):
            own_methods("explainer", [f"{tmp_path}/{name}:f"])


NOISE, QUESTION = "shout_of_mine", "sharp_of_mine"
FEW: dict[str, Any] = {"explainers": ["attention", "random"], "metrics": ["comprehensiveness"]}
OTHERS = """
from dataclasses import replace
from regard.judge.claim import Draft
from regard.judge.mean_tests import Mean, Test
from regard.records import Perturbed
import regard

@regard.perturbation(modality="text", family="character", scale="any: all letters are large")
def shout_of_mine(example, severity, rng):
    \"\"\"All letters large.\"\"\"
    return Perturbed(replace(example, inputs={"text": example.inputs["text"].upper()}))

@regard.question(rule="Yes if the largest weight is above 0.", not_claimed="A reason.", margins={"above": 0.0})
def sharp_of_mine(evidence):
    \"\"\"Do I call this map sharp?\"\"\"
    mean = Mean.of(evidence.of("largest_weight"), evidence.clusters)
    test = Test("largest weight", "above", 0.0, mean, {})
    return Draft("sharp_of_mine", "holds", test.p, "I do.", "mine.sharp", tests=(test,), rests=(test,))
"""


@pytest.fixture
def clean_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods of a test stay in it."""
    monkeypatch.setattr(registry, "_IN_PROCESS", dict(registry._IN_PROCESS))


@pytest.mark.usefixtures("clean_process")
def test_noise_and_attack_of_a_file_work_by_name_and_as_objects(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OTHERS)
    assert own_methods("perturbation", [f"{file}:{NOISE}"]) == [NOISE]
    examples = [Example(f"e{i}", {"text": text}) for i, text in enumerate(TEXTS)]
    by_name, by_object = (specs_of(examples[0], [name]) for name in (NOISE, find("perturbation", NOISE)))
    assert by_name == by_object
    rows = noise_table(TorchToy(), examples, by_name, [1])
    assert (rows[1].noise, rows[1].changed) == (NOISE, 1.0)


@pytest.mark.usefixtures("clean_process")
def test_question_of_this_process_is_judged_beside_ours(tmp_path: Path) -> None:
    run = audit(
        TorchToy(),
        [f"{text} {i}" for i, text in enumerate(TEXTS * 3)],
        out=tmp_path / "run",
        budget="none",
        experiments=["map_shape"],
        **FEW,
    )
    before = [v.question for j in verdicts(run) for v in j.verdicts]
    (tmp_path / "mine.py").write_text(OTHERS)
    assert own_methods("question", [f"{tmp_path}/mine.py:{QUESTION}"]) == [QUESTION]
    after = [v.question for j in verdicts(run) for v in j.verdicts]
    assert set(after) - set(before) == {"Do I call this map sharp?"}
