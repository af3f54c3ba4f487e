"""Attacks: success with its denominator, what it cost, under which constraints; success over the budget."""

from __future__ import annotations

import numpy as np

from regard.measures.intervals import wilson
from regard.present.charts import Line, legend, line_chart
from regard.present.markup import Html, join, table, tag
from regard.present.retelling import retold
from regard.present.robustness_parts.columns import cell, different, in_words, of_mean, picked, seed
from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Floats, Score


def attacks(material: Material) -> Html | None:
    """Table, curve over queries, and what makes the numbers suspicious."""
    scores = picked(material, "attack_success")
    if not scores:
        return None
    tried = [s for s in scores if s.where.get("role") != "baseline"]
    worst = picked(material, "worst_case_attack_accuracy")
    lines = [tag("p", {"class": "note"}, sentence) for sentence in suspicions(scores)]
    every = in_words(of_mean(material, worst)[0]) if worst else say("unknown")
    said = say("robustness.attack_worst", value=every, n=len(worst[0].ids) if worst else 0, attacks=len(tried))
    told = "; ".join(sorted({retold(str(s.where.get("constraints"))) for s in scores}))
    allowed = tag("p", {"class": "soft"}, say("robustness.constraints", constraints=told))
    return join(
        tag("h3", None, say("robustness.attacks")),
        tag("p", None, said if worst else ""),
        _table(material, scores),
        tag("div", {"class": "cards"}, _curve(scores), tag("div", None, allowed, lines)),
    )


def suspicions(scores: list[Score]) -> list[str]:
    """Sanity of the attacks: each has to be stronger than noise of the same size (Carlini et al. 2019)."""
    rates = {str(s.where["attack"]): _rate(s) for s in scores if np.isfinite(s.values).any()}
    floor = [str(s.where["attack"]) for s in scores if s.where.get("role") == "baseline"]
    found = []
    for score in scores:
        name = str(score.where["attack"])
        for baseline in floor:
            if name not in floor and name in rates and baseline in rates and rates[name] <= rates[baseline]:
                found.append(say("robustness.no_stronger", attack=name, baseline=baseline))
    return found


def _rate(score: Score) -> float:
    return float(np.nanmean(score.values))


def _table(material: Material, scores: list[Score]) -> Html:
    rows = []
    for score in scores:
        attack = score.where["attack"]
        success, n = of_mean(material, [score])
        beside = {m: picked(material, m, attack=attack) for m in ("accuracy", "attack_perturbed", "attack_similarity")}
        queries = np.concatenate([s.values for s in picked(material, "attack_queries", attack=attack)])
        kinds = [retold(str(v)) for v in different(beside["attack_similarity"], "similarity")]
        turned = round(success.estimate * n) if n else 0
        role = say("robustness.baseline") if score.where.get("role") == "baseline" else str(score.where.get("access"))
        rows.append(
            [
                join(str(attack), tag("small", None, role)),
                tag("td", {"class": "n"}, say("robustness.of", k=turned, n=n)),
                cell(success),
                cell(of_mean(material, beside["accuracy"])[0]),
                tag("td", {"class": "n"}, _spread(queries)),
                cell(of_mean(material, beside["attack_perturbed"])[0]),
                join(cell(of_mean(material, beside["attack_similarity"])[0])),
                ", ".join(kinds),
            ]
        )
    keys = ("attack", "turned", "success", "accuracy_under", "queries", "perturbed", "similarity", "similarity_is")
    shaded = {i for i, s in enumerate(scores) if s.where.get("role") == "baseline"}
    caption = say("robustness.attack_caption", seed=seed(material))
    return table([say(f"robustness.{k}") for k in keys], rows, caption=caption, numeric=True, shaded=shaded)


def _spread(values: Floats) -> str:
    there = values[np.isfinite(values)]
    if not len(there):
        return say("unknown")
    return f"{there.mean():.0f} / {np.median(there):.0f} / {np.quantile(there, 0.95):.0f}"


def _curve(scores: list[Score]) -> Html | None:
    drawn = [s for s in scores if "success" in s.curves and len(s.grid) > 1]
    if not drawn:
        return None
    grid = drawn[0].grid
    lines = []
    for i, score in enumerate(drawn):
        rows = np.asarray(score.curves["success"], np.float64)
        rows = rows[~np.isnan(rows).any(-1)]
        if score.grid != grid or not len(rows):
            continue
        low, high = wilson(rows.sum(0), np.full(len(grid), len(rows)))
        dashed = score.where.get("role") == "baseline"
        lines.append(Line(str(score.where["attack"]), i % 8 + 1, rows.mean(0), low, high, dashed=dashed))
    if not lines:
        return None
    chart = line_chart(grid, lines, x_name=say("robustness.queries_at_most"), y_name=say("robustness.success"))
    caption = tag("figcaption", None, say("robustness.budget_caption"))
    return tag("figure", None, chart, legend(lines), caption)
