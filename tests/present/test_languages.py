"""Languages have the same keys; no section holds words of its own; messages are rendered."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest
from fake_run import JUDGEMENT, fake_run

import regard.present
from regard.errors import UnknownName
from regard.judge.evidence import Curves, Evidence
from regard.judge.judge import judge
from regard.present.messages.messages import _table, catalogue, count, render, say, speaking
from regard.present.report.report import report
from regard.present.verdict_words import answer, contrast, question, said
from regard.records import Message
from regard.registry import names
from regard.store.judgements import judgement_to_json

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

ROOM = Path(regard.present.__file__).parent
SPEAKING = sorted(
    [
        *(ROOM / f"{name}.py" for name in ("verdict_evidence", "verdict_words", "summary", "results_table")),
        *(ROOM / f"{name}.py" for name in ("by_group", "judge_error_rate")),
        *(ROOM / "terminal" / f"{name}.py" for name in ("results", "shift_view")),
        *(ROOM / "report" / f"{name}.py" for name in ("report", "charts", "contrast_chart", "as_markdown")),
        *(p for name in ("sections", "drawings", "robustness") for p in (ROOM / "report" / name).glob("*.py")),
    ]
)
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", [name for name in names("language") if name != "en"])
def test_every_language_says_the_same_things_about_the_same_values(language: str) -> None:
    english, other = catalogue("en"), catalogue(language)
    assert set(english) == set(other)
    assert [k for k in english if places(english[k]) != places(other[k])] == []
    assert [k for k, v in other.items() if not v and english[k].strip()] == []


def test_chinese_is_chinese() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    names = {
        "settings.no_limit",
        "error.named",
        "errors.audits.noun_noun",
        "errors.perturbations.field_value",
        "errors.serve.field_in_place",
        "unknown",
        "joint",
        "facts.regard",
        "column.n",
        "reliance.of_n",
        "results.n_is",
        "removal_curves.n",
    }
    same = {k for k, v in chinese.items() if v == english[k]} - names
    assert {k for k in same if not k.startswith(("metric.", "formula."))} == set()
    prose = {k: v for k, v in english.items() if not k.startswith("formula.")}
    words = {k: re.findall(r"[a-z]{2,}", re.sub(r"{\w+}", "", v)) for k, v in prose.items()}
    assert [k for k in words if len(words[k]) > 2 and not CHINESE.search(chinese[k])] == []


@pytest.mark.parametrize("file", SPEAKING, ids=lambda p: p.stem)
def test_no_section_holds_words_of_its_own(file: Path) -> None:
    """A text of two words in a row is something that is said; names of keys, classes and attributes are not."""
    tree = ast.parse(file.read_text("utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):  # attributes of elements
            silent |= {id(v) for value in node.values for v in ast.walk(value)}
        if isinstance(node, ast.Raise | ast.Assert):
            silent |= {id(v) for v in ast.walk(node)}
        if isinstance(node, ast.keyword) and node.arg == "style":
            silent.add(id(node.value))
        if isinstance(node, ast.Compare | ast.Subscript | ast.Match):  # names of things, not words about them
            silent |= {id(v) for v in ast.walk(node)}
    found = [
        n.value for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in silent
        and re.search(r"[A-Za-z]{2,},? [a-z]{2,}", n.value)
    ]  # fmt: skip
    allowed = {"not told apart", "read as evidence", "for most inputs", "debugging only", "do not read",
               "nothing to read", "no text", "not tested", "not applicable", "too few",
               "regard explain ", "are not in this view", "open there", "; img-src data:",
               "<!doctype html>\n"}  # fmt: skip
    assert [text for text in found if text not in allowed] == []


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownName), speaking("klingon"):
        raise AssertionError("not reached")
    assert say("answer.holds") == "yes", "and the language is as before"


def test_counting() -> None:
    assert count(1, "problem") == "1 problem"
    with speaking("zh"):
        assert count(3, "example") == "3 个样本"


def evidence(seed: int, strength: float, n: int = 80, classes: int = 2) -> Evidence:
    """Made by hand: attention that matters and points as much as `strength` says."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.03, n)
    good, poor = 0.55 + 0.02 * rng.normal(size=(n, 1)), 0.9 + 0.02 * rng.normal(size=(n, 1))
    own = poor + strength * (good - poor)
    pointing = {
        (ranking, operator): Curves(curve + 0.001 * rng.normal(size=(n, 1)), None)
        for operator in ("mask", "delete")
        for ranking, curve in (("attention", own), ("integrated_gradients", good), ("random:0", poor))
    }
    single = {
        "keys": np.full(n, 12.0), "flat": 0.4 * strength + np.abs(noise), "locked": 0.4 * strength + np.abs(noise),
        "permuted": 0.3 * strength + np.abs(noise) / 9, "permuted_flips": (rng.random(n) < 0.3 * strength) * 1.0,
        "route": (rng.random(n) < strength) * 1.0, "agreement": 0.5 * strength + noise, "ceiling": 0.5 + noise,
        "displaceable": (rng.random(n) < 0.9) * 1.0, "linear": np.ones(n),
    }  # fmt: skip
    names = tuple(f"class {i % classes}" for i in range(n))
    ids = tuple(map(str, range(n)))
    return Evidence(ids, names, ids, np.full(n, 0.92), np.full(n, 0.5), single, pointing, (1,),
                    Message("map.one_head"))  # fmt: skip


@pytest.mark.parametrize("strength", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("n", "classes"), [(80, 2), (12, 2), (80, 5)])
def test_every_sentence_of_the_judge_is_rendered_in_chinese(strength: float, n: int, classes: int) -> None:
    judged: dict[str, Any] = judgement_to_json(judge(evidence(3, strength, n, classes)))
    with speaking("zh"):
        told = [render(judged["sentence"]), render(judged["why"]), *map(render, judged["notes"])]
        told += [say(f"margin.{name}") for name in judged["margins"]]
        for v in judged["verdicts"]:
            told += [question(v), answer(v), said(v), render(v["rule_in_words"]), render(v["not_claimed"])]
            told += [contrast(c) for c in v["contrasts"] if c["estimate"] is not None]
    assert [words for words in told if not CHINESE.search(words)] == []
    english = re.compile(r"\b(?:the|its|is|that|would|could)\b")
    assert [words for words in told if english.search(words)] == []


def test_a_message_names_the_units_of_its_model() -> None:
    lost = Message.of("judge.exclusive.lost", input="image")
    assert "images" in render(lost)
    patch = Message.of("sentences", parts=[Message("judge.agree.fails")], unit="patch")
    assert "patch" in render(patch), "a message inside another one inherits its nouns"
    with speaking("zh"):
        assert "图像" in render(lost)
        assert "图块" in render(patch.to_json())
    assert "segmentoids" in render(Message.of("judge.reading.do_not_read", unit="segmentoid")), "a noun of a plug-in"


def test_a_plain_text_stays_as_it_is() -> None:
    with speaking("zh"):
        assert render("ValueError: something else happened.") == "ValueError: something else happened."
        assert render("") == ""


def test_a_page_in_chinese_has_no_english_sentence_of_ours() -> None:
    run = fake_run(n=12, manifest={"judgements": [judgement_to_json(JUDGEMENT)]})
    with speaking("zh"):
        page = report(run)
    assert '<html lang="zh-Hans">' in page
    for key, text in catalogue("en").items():
        if len(text) > 40 and not places(text):
            assert text.replace("'", "&#x27;") not in page.split('<script type="application/json"')[0], key


@pytest.mark.parametrize("name", names("language"))
def test_a_table_read_alone_says_what_the_whole_catalogue_says(name: str) -> None:
    for key, sentence in catalogue(name).items():
        table, _, last = key.rpartition(".")
        assert _table(name, table)[last] == sentence


KEY = re.compile(r'"((?:[a-z_]+\.)+[a-z_]+)"')
"""A key of the catalogue as it stands in the code."""
PARTS_OF_KEYS = ("judge", "defect", "repeatability", "map", "data", "estimate", "margin", "fate")
"""Tables whose messages are made below `present`, or by the name of something stored."""


def test_every_message_of_the_code_is_in_the_catalogue_and_the_other_way_round() -> None:
    source = "\n".join(p.read_text("utf-8") for p in ROOM.parent.rglob("*.py"))
    known_keys = {key for key in catalogue("en") if key.split(".")[0] in PARTS_OF_KEYS}
    written = {key for key in KEY.findall(source) if key.split(".")[0] in PARTS_OF_KEYS and key.count(".") <= 2}
    made = re.findall(r'Message(?:\.of)?\(\s*"([a-z_.]+)"', source)
    assert sorted({key for key in made if key != "sentences"} - set(catalogue("en"))) == []
    families = [re.escape(f).replace(r"\{\}", "[a-z_]+") for f in (
        "judge.{}.rule", "judge.{}.not_claimed", "judge.{}.lost", "judge.{}.question", "judge.because.{}",
        "judge.rule.{}", "judge.reading.{}", "judge.why.{}", "judge.contrast.{}", "map.{}", "defect.{}", "margin.{}",
        "fate.{}", "fate.means.{}", "data.kind.{}", "data.known.{}", "data.sunspots_{}",
    )]  # fmt: skip
    unused = {key for key in known_keys - written if not any(re.fullmatch(f, key) for f in families)}
    assert sorted(unused) == []


@pytest.mark.parametrize("name", ["../languages/en", "x" * 5000, "", "en.toml", "/etc/hosts"])
def test_a_language_is_a_name_and_never_a_path(name: str) -> None:
    with pytest.raises(UnknownName):
        catalogue(name)
