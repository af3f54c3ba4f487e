"""Baselines that know nothing of the model, Captum by name, and relevances from elsewhere."""

from __future__ import annotations

import builtins
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from captum.attr import FeatureAblation, IntegratedGradients
from test_gradient_family import CASES, TEXTS, text_case
from test_on_torch import Tiny, encode

from regard.audits.shard import Settings, compute
from regard.desk.questions import input_function
from regard.errors import EnvironmentProblem, InputError, UnknownName, Unsupported
from regard.explainers.captum import captum
from regard.explainers.given import given
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.position import position
from regard.explainers.random import random
from regard.explainers.saliency import saliency
from regard.explainers.token_frequency import token_frequency
from regard.explainers.uniform import uniform
from regard.models.open.wrap import wrap
from regard.records import Example, Spec, Units
from regard.testing.toy import ToyCase


@pytest.mark.parametrize("kind", CASES)
def test_baselines_know_only_the_units(kind: str) -> None:
    case = CASES[kind]()
    for method in (random, uniform, position):
        got = method(case)
        assert (got.values >= 0).all()
        assert not case.desk.costs() or sum(c.forwards for c in case.desk.costs()) == 0
    assert [row.sum() for row in uniform(case)] == pytest.approx([1] * len(case.ids))


def test_positions() -> None:
    case = ToyCase(("a b c d e",))
    found = {favour: position(case, favour=favour)[0][1:] for favour in ("first", "last", "edges", "middle")}
    assert found["first"].tolist() == found["last"][::-1].tolist() == [1, 0.8, 0.6, 0.4, 0.2]
    assert found["edges"].round(9).tolist() == [1, 0.8, 0.6, 0.8, 1]
    assert found["middle"].round(9).tolist() == [0.2, 0.4, 0.6, 0.4, 0.2]


def test_rare_words_are_relevant_by_frequency(tmp_path: Path) -> None:
    (tmp_path / "corpus.csv").write_text("text,label\nthe the the film,0\nthe Film zebra,1\n", "utf-8")
    corpus = str(tmp_path / "corpus.csv")
    values = token_frequency(ToyCase(("the film zebra unseen",)), corpus=corpus)[0]
    words, kinds = 7, 3
    wanted = [np.log((words + kinds + 1) / (count + 1)) for count in (4, 2, 1, 0)]
    np.testing.assert_allclose(values, [0, *wanted])
    with pytest.raises(Unsupported, match="units of text"):
        token_frequency(CASES["tabular"](), corpus=corpus)
    with pytest.raises(InputError, match="no such"):
        token_frequency(ToyCase(), corpus=str(tmp_path / "nothing.csv"))


def test_all_pieces_of_a_word_get_the_frequency_of_the_word(tmp_path: Path) -> None:
    (tmp_path / "corpus.csv").write_text("text,label\nfilmgoer filmgoer a,0\n", "utf-8")

    places, n = np.array([[0, 0], [0, 4], [4, 8], [9, 10]], float), np.arange(4)
    names = ("[CLS]", "film", "##goer", "a")
    units = Units(names, "token", "span", places, n == 0, np.array([-1, 0, 0, 1]), n * 0, n, (4,))
    case: Any = SimpleNamespace(ids=("x",), units=(units,), examples=(Example("x", {"text": "filmgoer a"}),))
    values = token_frequency(case, corpus=str(tmp_path / "corpus.csv"))[0]
    assert values[1] == values[2] < values[3]


@pytest.mark.parametrize("kind", CASES)
def test_captum_by_name_is_captum(kind: str) -> None:
    case = CASES[kind]()
    base = case.baselines[0]
    ours = integrated_gradients(case, steps=10)
    theirs = captum(case, attribution="IntegratedGradients", params={"n_steps": 10, "method": "riemann_middle"})
    np.testing.assert_allclose(theirs.values, ours.values, rtol=1e-4, atol=1e-5)
    plain = captum(case, attribution="FeatureAblation")
    f = input_function(case, 0)
    with torch.no_grad():
        wanted = FeatureAblation(f).attribute(f.x, baselines=f.baseline(base), feature_mask=f.owner + 1)
    first = int(np.flatnonzero(case.units[0].free)[0])
    at = (f.owner == first).flatten().nonzero()[0]
    assert plain[0][first] == pytest.approx(float(wanted.flatten()[at]), abs=1e-5)
    if kind in ("text", "regression"):
        np.testing.assert_allclose(plain.values, leave_one_out(case, operator="mask").values, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["DeepLift", "GuidedBackprop", "ShapleyValueSampling", "KernelShap", "GradientShap", "NoiseTunnel(Saliency)"],
)
def test_other_attributions_run_and_repeat_themselves(name: str) -> None:
    case = CASES["tabular"]()
    got = captum(case, attribution=name)
    assert np.isfinite(got.values).all()
    assert got.values.any()
    state = np.random.get_state()[1].tolist()
    assert np.array_equal(captum(case, attribution=name).values, got.values)
    assert np.random.get_state()[1].tolist() == state, "global numbers are left as they were"


def test_captum_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    case = text_case()
    with pytest.raises(UnknownName, match="IntegratedGradients"):
        captum(case, attribution="IntegratedGradient")
    with pytest.raises(Unsupported, match="inner layers"):
        captum(case, attribution="LayerConductance")
    with pytest.raises(UnknownName, match="n_steps"):
        captum(case, attribution="IntegratedGradients", params={"n_step": 3})
    with pytest.raises(InputError, match="NoiseTunnel"):
        captum(case, attribution="NoiseTunnel")
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "captum":
            raise ImportError("No module named 'captum'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(EnvironmentProblem, match=r"regard\[captum\]"):
        captum(case)


def test_the_cost_of_captum_is_counted_before_and_after() -> None:
    torch.manual_seed(0)
    model = wrap(Tiny().eval(), encode, labels=["a", "b", "c"], mask="mask", mask_id=1, pooling="mean", device="cpu")
    examples = [Example(text, {"text": text}) for text in TEXTS]
    settings = Settings(
        (Spec("explainer", "captum", {"attribution": "IntegratedGradients", "params": {"n_steps": 7}}),)
    )
    page = compute(model, examples, settings)
    assert not page.problems
    spent = {c.method: (c.forwards, c.backwards) for c in page.costs}
    assert (21, 21) in spent.values()


def _write(path: Path, rows: dict[str, list[float]]) -> Path:
    long = [(name, k, v) for name, values in rows.items() for k, v in enumerate(values)]
    if path.suffix == ".npz":
        np.savez(path, **{name: np.array(v) for name, v in rows.items()})
    elif path.name == "long.csv":
        path.write_text("id,unit,relevance\n" + "".join(f"{a},{b},{c}\n" for a, b, c in long), "utf-8")
    elif path.suffix == ".csv":
        path.write_text("id,relevance\n" + "".join(f'{a},"{json.dumps(v)}"\n' for a, v in rows.items()), "utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"id": a, "relevance": v}) + "\n" for a, v in rows.items()), "utf-8")
    else:
        ids, units, values = zip(*long, strict=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": ids, "unit": units, "relevance": values}), path)
    return path


@pytest.mark.parametrize("name", ["a.npz", "long.csv", "wide.csv", "a.jsonl", "a.parquet"])
def test_relevances_from_a_file(tmp_path: Path, name: str) -> None:
    case = text_case()
    rows = {text: [float(k) - 1.5 for k in range(len(text.split()))] for text in TEXTS}
    got = given(case, file=str(_write(tmp_path / name, rows)))
    for i, text in enumerate(TEXTS):
        assert got[i].tolist() == rows[text]
    alone = ToyCase(("a b",))
    path = _write(tmp_path / name, {alone.ids[0]: [1.0, 2.0]})
    assert given(alone, file=str(path))[0].tolist() == [0, 1, 2], "special units are 0"


def test_a_file_that_does_not_fit_is_told(tmp_path: Path) -> None:
    case = text_case()
    short = _write(tmp_path / "short.jsonl", {text: [1.0] for text in TEXTS})
    with pytest.raises(InputError, match=r"6 values.*\(1,\)"):
        given(case, file=str(short))
    with pytest.raises(UnknownName, match="short one"):
        given(case.subset([1]), file=str(_write(tmp_path / "other.jsonl", {"short on": [1.0, 2.0]})))
    (tmp_path / "bad.csv").write_text("id,value\na,1\n", "utf-8")
    with pytest.raises(InputError, match="relevance"):
        given(case, file=str(tmp_path / "bad.csv"))
    np.savez(tmp_path / "evil.npz", **{TEXTS[0]: np.array([object()], dtype=object)})
    with pytest.raises(InputError, match="plain arrays"):
        given(case, file=str(tmp_path / "evil.npz"))
    with pytest.raises(InputError, match="no such file"):
        given(case, file="nowhere.npz")
    with pytest.raises(InputError, match="both"):
        given(case, file="a", function="b:c")
    with pytest.raises(Unsupported, match="rationale"):
        given(case)


def test_relevances_from_a_function(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def lengths(example, units):\n    return [len(name) for name in units.names]\n", "utf-8")
    got = given(text_case(), function=f"{source}:lengths")
    assert got[1].tolist() == [5, 3]
    with pytest.raises(UnknownName, match="lengths"):
        given(text_case(), function=f"{source}:length")
    with pytest.raises(InputError, match="imported"):
        given(text_case(), function="no_such_module:f")


def test_saliency_and_captum_are_not_the_same_thing() -> None:
    case = text_case()
    assert not np.allclose(saliency(case).values, captum(case, attribution="Saliency").values)
    assert IntegratedGradients.__name__ in str(captum.__doc__)


def test_pad_baseline_starts_at_the_padding_token() -> None:
    case = text_case()
    assert "pad" in case.baselines
    relevance = integrated_gradients(case, steps=64, baseline="pad")
    model = case.desk.model
    free = case.units[0].free
    padded = model.encode(case.examples[0])
    ids = np.where(free, model.reader.alphabet.pad, padded.arrays["input_ids"])
    padded = replace(padded, arrays={**padded.arrays, "input_ids": ids})
    answers = model.forward([padded], case.targets[:1])
    difference = case.base().value[0] - answers.value[0]
    assert relevance.extras["difference"][0] == pytest.approx(difference, abs=1e-5)
    assert relevance.extras["completeness_error"][0] < 0.02 * max(1.0, abs(difference))
