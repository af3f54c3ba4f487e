"""An audit on two domains: what is kept, and what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from three_by_hand import texts, tiny

from regard.audits.audit import audit
from regard.cli.root import root
from regard.datasets.examples import Examples
from regard.judge.shift import FOLDER, shift_of
from regard.judge.verdicts import verdicts
from regard.store.run import Run

ASKED = ["map_shape", "permutation:times=5", "route", "pointing:sizes=[1]", "top_word", "exclusive", "single_heads"]


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model on 64 texts, and on 20, which are too few for most answers."""
    out = tmp_path_factory.mktemp("shift") / "run"
    for place, n in ((out, 64), (out / FOLDER, 20)):
        data = Examples(f"{n} texts", tuple(texts(n)), ("no", "yes"), ())
        run = audit(
            tiny("decides"), data, out=place, explainers=["attention", "random"], experiments=ASKED, keep=0,
            metrics=["comprehensiveness", "sufficiency"],
        )  # fmt: skip
        verdicts(run, keep=True)
    return out


def test_what_survives_is_kept_and_shown(shifted: Path) -> None:
    found = shift_of(shifted, keep=True)
    assert found is not None
    assert Run(shifted).manifest["shift"] == json.loads(json.dumps(found))
    assert found["data"] == ["64 texts", "20 texts"]
    (attention,) = found["attentions"]  # type: ignore[misc]
    assert isinstance(attention, dict)
    fates = {row["question"]: row["fate"] for row in attention["questions"]}  # type: ignore[union-attr, index, call-overload]
    assert attention["fate"] == "open there"
    assert fates["points"] == "open there"
    assert fates["map"] == "survives"
    assert fates["better_head"] == "open", "there is one head"
    shown = CliRunner().invoke(root, ["verdicts", str(shifted)])
    assert shown.exit_code == 0, shown.output
    assert "SHIFT: 64 texts -> 20 texts" in shown.output
    told = json.loads(CliRunner().invoke(root, ["verdicts", str(shifted), "--json"]).output)
    assert told[0]["shift"]["there"] == "undecided"


def test_a_run_without_other_data_has_no_shift(shifted: Path) -> None:
    assert shift_of(shifted / FOLDER) is None
