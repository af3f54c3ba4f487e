"""Attacks: success with its denominator, what it cost, under which constraints; success over the budget."""

from __future__ import annotations

import numpy as np

from regard.measures.intervals import wilson
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import cell, different, in_words, of_mean, picked, seed
from regard.present.retelling import retold
from regard.present.run_reader import Material
from regard.records import Floats, Score, Spec


def attacks(material: Material) -> Html | None:
    """Table, curve over queries, and what makes the numbers suspicious."""
    scores = picked(material, "attack_success")
    if not scores:
        return None
    tried = [s for s in scores if s.where.get("role") != "baseline"]
    worst = picked(material, "worst_case_attack_accuracy")
    lines = [tag("p", {"class": "note"}, sentence) for sentence in suspicions(scores)]
    lines += [tag("p", None, sentence) for sentence in ([] if lines else in_order(scores))]
    every = of_mean(material, worst)
    said = say("robustness.attack_worst", value=in_words(every), n=every.n, attacks=len(tried))
    told = "; ".join(sorted({retold(str(s.where.get("constraints"))) for s in scores}))
    allowed = tag("p", {"class": "soft"}, say("robustness.constraints", constraints=told))
    return join(
        tag("h3", None, say("robustness.attacks")),
        tag("p", None, said if worst else ""),
        _table(material, scores),
        tag("div", {"class": "cards"}, _curve(scores), tag("div", None, allowed, lines)),
    )


def suspicions(scores: list[Score]) -> list[str]:
    """Sanity of the attacks (Carlini et al. 2019): stronger than noise of the same size, white box at least as strong
    as black box under the same constraints, and stronger in a larger ball; each that is not so, in words."""
    known = [s for s in scores if np.isfinite(s.values).any()]
    real = [s for s in known if s.where.get("role") != "baseline"]
    found = []
    for score in real:
        for floor in (s for s in known if s.where.get("role") == "baseline"):
            if _rate(score) <= _rate(floor):
                found.append(_no_stronger(score, floor, real))
        for other in real:
            white = (score.where.get("access"), other.where.get("access")) == ("white box", "black box")
            same = score.where.get("constraints") == other.where.get("constraints")
            if white and same and _clearly_less(score, other):
                found.append(_both("robustness.white_weaker", score, other))
            if _ball(other, score) and _clearly_less(other, score):
                found.append(_both("robustness.larger_weaker", other, score))
    return found


def in_order(scores: list[Score]) -> list[str]:
    """What was checked and found in order, where nothing was suspicious: which checks the attacks of this run allow."""
    known = [s for s in scores if np.isfinite(s.values).any()]
    real = [s for s in known if s.where.get("role") != "baseline"]
    access = {(s.where.get("access"), str(s.where.get("constraints"))) for s in real}
    there = {
        "noise": len(real) < len(known) and bool(real),
        "white": any(("black box", allowed) in access for kind, allowed in access if kind == "white box"),
        "ball": any(_ball(a, b) for a in real for b in real),
    }
    checks = [say(f"robustness.sane_{name}") for name, asked in there.items() if asked]
    return [say("robustness.sane", checks="; ".join(checks))] if checks else []


def _no_stronger(score: Score, floor: Score, real: list[Score]) -> str:
    """A ball that is only too small is told from an attack that does not work."""
    larger = [s for s in real if _ball(s, score) and _rate(s) > _rate(floor)]
    if larger:
        best = max(larger, key=_rate)
        names = {"attack": str(score.where["attack"]), "larger": str(best.where["attack"])}
        return say(
            "robustness.small_ball", **names, baseline=str(floor.where["attack"]), rate=f"{100 * _rate(best):.0f}"
        )
    return say("robustness.no_stronger", attack=str(score.where["attack"]), baseline=str(floor.where["attack"]))


def _both(key: str, one: Score, other: Score) -> str:
    rates = {"rate": f"{100 * _rate(one):.0f}", "other_rate": f"{100 * _rate(other):.0f}"}
    return say(key, attack=str(one.where["attack"]), other=str(other.where["attack"]), **rates)


def _ball(larger: Score, smaller: Score) -> bool:
    """Whether it is the same attack in a larger ball."""
    one, other = (Spec.parse("attack", str(s.where["attack"])) for s in (larger, smaller))
    sizes = [float(str(s.params.get("eps", 0))) for s in (one, other)]
    return one.name == other.name and sizes[0] > sizes[1]


def _clearly_less(one: Score, other: Score) -> bool:
    """One turns fewer of the same examples, beyond what two standard errors of the paired difference allow."""
    theirs = dict(zip(other.ids, other.values, strict=True))
    apart = np.array([theirs.get(name, np.nan) - value for name, value in zip(one.ids, one.values, strict=True)])
    apart = apart[np.isfinite(apart)]
    return len(apart) > 1 and bool(apart.mean() > 2 * apart.std(ddof=1) / np.sqrt(len(apart)))


def _rate(score: Score) -> float:
    return float(np.nanmean(score.values))


def _table(material: Material, scores: list[Score]) -> Html:
    rows = []
    for score in scores:
        attack = score.where["attack"]
        success = of_mean(material, [score])
        n = success.n
        beside = {m: picked(material, m, attack=attack) for m in ("accuracy", "attack_perturbed", "attack_similarity")}
        asked = picked(material, "attack_queries", attack=attack)
        queries = np.concatenate([s.values for s in asked]) if asked else np.zeros(0)
        kinds = [retold(str(v)) for v in different(beside["attack_similarity"], "similarity")]
        turned = round(success.estimate * n) if n else 0
        role = say("robustness.baseline") if score.where.get("role") == "baseline" else str(score.where.get("access"))
        rows.append(
            [
                join(str(attack), tag("small", None, role)),
                tag("td", {"class": "n"}, say("robustness.of", k=turned, n=n)),
                cell(success),
                cell(of_mean(material, beside["accuracy"]), n),
                tag("td", {"class": "n"}, _spread(queries), small(_queried(queries, n))),
                cell(of_mean(material, beside["attack_perturbed"]), n),
                cell(of_mean(material, beside["attack_similarity"]), n),
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


def _queried(values: Floats, usual: int) -> str:
    n = int(np.isfinite(values).sum())
    return counts.own((n, n), (usual, usual))


def _curve(scores: list[Score]) -> Html | None:
    drawn = [s for s in scores if "success" in s.curves and len(s.grid) > 1]
    if not drawn:
        return None
    grid = drawn[0].grid
    lines, sizes = list[Line](), list[int]()
    for i, score in enumerate(drawn):
        rows = np.asarray(score.curves["success"], np.float64)
        rows = rows[~np.isnan(rows).any(-1)]
        if score.grid != grid or not len(rows):
            continue
        sizes.append(len(rows))
        low, high = wilson(rows.sum(0), np.full(len(grid), len(rows)))
        dashed = score.where.get("role") == "baseline"
        lines.append(Line(str(score.where["attack"]), i % 8 + 1, rows.mean(0), low, high, dashed=dashed))
    if not lines:
        return None
    chart = line_chart(grid, lines, x_name=say("robustness.queries_at_most"), y_name=say("robustness.success"))
    caption = tag("figcaption", None, say("robustness.budget_caption", n=counts.between(sizes)))
    return tag("figure", None, chart, legend(lines), caption)
