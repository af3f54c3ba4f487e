"""Trained models whose rule is known: no settled verdict of the answer audit is wrong."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.audits.answers.evidence import open_case
from regard.audits.answers.result import AnswerAudit
from regard.audits.audit import audit
from regard.datasets.copying_prompts import RULES, Rule, copying_prompts
from regard.judge.citation_trust import GOOD
from regard.models.ask.chat_model import chat_model
from regard.models.open.load import load
from regard.registry import find

METHODS = ("row_knock_out", "gradient_contributions", "leave_source_out", "attention", "random", "last_source")


@cache
def model(rule: Rule) -> Any:
    return load(f"copier:rule={rule}")


def judged(rule: Rule, seed: int, folder: Path) -> AnswerAudit:
    prompts = copying_prompts(rule, n=36, seed=seed)
    return audit(model(rule), prompts, task="answer", out=folder, budget="none", explainers=METHODS, profile="quick")


@pytest.mark.parametrize("rule", RULES)
def test_the_model_follows_its_rule(rule: Rule) -> None:
    from regard.surveys.cite import cite

    prompts = copying_prompts(rule, n=12, seed=5)
    right = 0
    for prompt in prompts:
        cited = cite(model(rule), prompt.messages, sources=prompt.sources, prefix=prompt.prefix, new_tokens=1)
        right += cited.answer.strip() == str(prompt.answer).strip()
    assert right >= 11


@pytest.mark.parametrize("rule", RULES)
def test_no_settled_verdict_is_wrong(rule: Rule, tmp_path: Path) -> None:
    result = judged(rule, 1, tmp_path)
    assert result.trust.use.answer == ("no" if rule == "memory" else "yes")
    answers = {method.method: method.answer for method in result.trust.methods}
    if rule == "memory":
        assert set(answers.values()) <= {"nothing_to_cite", "reference"}
        return
    assert answers["row_knock_out"] == "yes"
    assert answers["last_source"] == "no"
    assert answers["random"] == "no"
    truth = {method.method: method.truth for method in result.trust.methods}
    for name, answer in answers.items():
        share = truth[name]
        assert share is not None
        if answer == "yes":
            assert share.high >= GOOD, name
        if answer == "no":
            assert share.low < GOOD, name


def test_a_head_with_all_weight_on_one_token_hides_it_from_renormalised_gradients() -> None:
    """The trained copier looks at the copied token alone: v_j - o_i vanishes there, v_j does not."""
    chat = chat_model(model("asked"))
    hits = {"plain": 0, "renormalised": 0}
    for prompt in copying_prompts("asked", n=10, seed=3):
        case, _ = open_case(chat, prompt, seed=0, new_tokens=1)
        for form in hits:
            scores = find("citer", "gradient_contributions")(case, form=form)[0]
            hits[form] += int(scores.argmax()) in (prompt.truth or ())
    assert hits["plain"] >= 8
    assert hits["renormalised"] < hits["plain"]


def test_prompts_follow_their_rule() -> None:
    for prompt in copying_prompts("asked", n=20):
        assert prompt.truth is not None
        assert prompt.sources is not None
        name, city = str(prompt.sources[prompt.truth[0]]).rstrip(".").split()
        assert (prompt.prefix.strip(), str(prompt.answer).strip()) == (name, city)
    first = copying_prompts("first", n=20)
    assert all(p.truth == (0,) and str(p.answer).strip() in str(p.sources[0]) for p in first if p.sources)
    by_name: dict[str, set[str]] = {}
    for prompt in copying_prompts("memory", n=80):
        by_name.setdefault(prompt.prefix, set()).add(str(prompt.answer))
    assert {len(cities) for cities in by_name.values()} == {1}
    assert np.mean([len(p.sources or ()) for p in first]) == pytest.approx(5, abs=0.6)
