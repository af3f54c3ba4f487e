"""The section about a recipe: there where the model is one that `regard improve` made, in every language."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.audits.resolve import improved
from regard.present.messages.messages import speaking
from regard.present.report.sections.improvement import improvement
from regard.present.run_reader import Material
from regard.records import Spec

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

PLAN = {"learned_noises": ["keyboard", "drop_words"], "other_noises": ["ocr"], "attack": "greedy_word"}
QUANTITIES = (
    "accuracy", "noise_accuracy", "other_noise_accuracy", "attack_success", "adaptive_attack_success",
    "attack_accuracy", "faithfulness", "removal_agreement", "gradient_agreement", "gradient_correlation", "stability",
)  # fmt: skip


def row(quantity: str, verdict: str = "no significant change") -> dict[str, Any]:
    return {
        "quantity": quantity, "before": 0.5, "after": 0.4, "difference": -0.1, "low": -0.2, "high": 0.0,
        "seeds_better": 4, "seeds": 5, "n": 50, "verdict": verdict,
    }  # fmt: skip


COMPARISONS = [
    {"arm": "noise", "against": "plain", "rows": [row(q) for q in QUANTITIES[1:]] + [row("accuracy", "worse")]},
    {"arm": "noise", "against": "noise-control", "rows": [row("stability", "better")]},
    {"arm": "other", "against": "plain", "rows": [row("stability")]},
]
RECORD = {"seeds": [0, 1, 2, 3, 4], "plan": PLAN, "recipes": {"noise": "half <noisy>"}, "comparisons": COMPARISONS}


def test_a_model_in_such_a_directory_is_known_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "improvement.json").write_text(json.dumps(RECORD), "utf-8")
    for place in ("noise", "noise/seed-3"):
        model: Any = SimpleNamespace(spec=Spec("source", str(tmp_path / place)))
        found: Any = improved(model)["improvement"]
        assert found["arm"] == "noise"
        assert [c["against"] for c in found["comparisons"]] == ["plain", "noise-control"]
    for place in ("plain", "noise/seed-3/deeper", "../elsewhere"):
        assert improved(SimpleNamespace(spec=Spec("source", str(tmp_path / place)))) == {}  # type: ignore[arg-type]
    assert improved(SimpleNamespace(spec=None)) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(("lang", "said"), [("en", "no significant change"), ("zh", "无显著变化")])
def test_the_table_says_what_is_not_significant_in_words(lang: str, said: str) -> None:
    found = {"arm": "noise", "what": "half <noisy>", "comparisons": COMPARISONS[:2], "seeds": [0, 1], "plan": PLAN}
    material = Material(SimpleNamespace(manifest={"model": {"improvement": found}}))  # type: ignore[arg-type]
    with speaking(lang):
        page = str(improvement(material))
    assert page.count(said) >= len(QUANTITIES) - 1
    assert page.count("<strong>") == 2
    assert "-0.100 [-0.200, +0.000]" in page
    assert "keyboard, drop_words" in page
    assert "&lt;noisy&gt;" in page


def test_without_it_there_is_no_section() -> None:
    assert improvement(Material(SimpleNamespace(manifest={"model": {}}))) is None  # type: ignore[arg-type]
