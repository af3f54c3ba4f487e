"""Attacks: success with its denominator, cost and constraints; success over the budget."""

from __future__ import annotations

from collections.abc import Sequence

from regard.audits.conclusions.attacks import AttackResults, Check, Suspicion
from regard.audits.conclusions.finding_means import different, picked
from regard.present import counts
from regard.present.messages.messages import id_words, render, say
from regard.present.report.charts import Line, legend, line_chart
from regard.present.report.markup import Html, join, small, table, tag
from regard.present.report.robustness.columns import cell, in_words
from regard.present.run_reader import Material
from regard.records import Score, decoded


def attacks(material: Material) -> Html | None:
    """Table, curve over queries, and warnings about suspicious numbers."""
    results = material.conclusions.attacks
    if results is None:
        return None
    scores = picked(material.findings, "attack_success")
    lines = [tag("p", {"class": "note"}, suspicion(one)) for one in results.suspicions]
    lines += [tag("p", {"class": "note"}, sentence) for sentence in undecided(results.checks)]
    lines += [tag("p", None, sentence) for sentence in in_order(results.checks)]
    worst, accuracy = results.worst, ""
    if worst is not None:
        count = sum(s.where.get("role") != "baseline" for s in scores)
        accuracy = say("robustness.attack_worst", value=in_words(worst), n=worst.n, attacks=count)
    constraints = "; ".join(sorted({render(decoded(s.where.get("constraints"))) for s in scores}))
    allowed = tag("p", {"class": "soft"}, say("robustness.constraints", constraints=constraints))
    return join(
        tag("h3", None, say("robustness.attacks")),
        tag("p", None, accuracy),
        _table(material, scores, results),
        tag("div", {"class": "cards"}, _curve(results), tag("div", None, allowed, lines)),
    )


def suspicion(one: Suspicion) -> str:
    """Describe a failed sanity check."""
    rates = {"rate": f"{100 * one.rate:.0f}", "other_rate": f"{100 * one.other_rate:.0f}"}
    names = {"attack": one.attack, "other": one.other, "baseline": one.other, "larger": one.larger, "n": str(one.n)}
    return say(f"robustness.{one.why}", **names, **rates)


def in_order(checks: Sequence[Check]) -> list[str]:
    """List the checks that tests show to be passed."""
    names = [say(f"robustness.sane_{one.name}", n=one.n) for one in checks if one.outcome == "passed"]
    return [say("robustness.sane", checks="; ".join(names))] if names else []


def undecided(checks: Sequence[Check]) -> list[str]:
    """Say which checks cannot be decided on so few examples."""
    sentences = []
    for one in checks:
        if one.outcome == "open":
            claim = say(f"robustness.claim_{one.name}")
            until = say("robustness.sane_until", needed=one.needed) if one.needed else ""
            sentences.append(say("robustness.sane_open", claim=claim, n=one.n, until=until))
    return sentences


def _table(material: Material, scores: list[Score], results: AttackResults) -> Html:
    rows = []
    for score, row in zip(scores, results.rows, strict=True):
        attack, n = score.where["attack"], row.success.n
        similar = picked(material.findings, "attack_similarity", attack=attack)
        kinds = [id_words("similarity", str(v)) for v in different(similar, "similarity")]
        turned = round(row.success.estimate * n) if n else 0
        role = say("robustness.baseline") if score.where.get("role") == "baseline" else str(score.where.get("access"))
        queries = say("unknown") if row.queries is None else " / ".join(f"{q:.0f}" for q in row.queries)
        rows.append(
            [
                join(str(attack), tag("small", None, role)),
                tag("td", {"class": "n"}, say("robustness.of", k=turned, n=n)),
                cell(row.success),
                cell(row.accuracy, n),
                tag("td", {"class": "n"}, queries, small(counts.own((row.queried, row.queried), (n, n)))),
                cell(row.perturbed, n),
                cell(row.similarity, n),
                ", ".join(kinds),
            ]
        )
    keys = ("attack", "turned", "success", "accuracy_under", "queries", "perturbed", "similarity", "similarity_is")
    shaded = {i for i, s in enumerate(scores) if s.where.get("role") == "baseline"}
    caption = say("robustness.attack_caption", seed=material.seed)
    return table([say(f"robustness.{k}") for k in keys], rows, caption=caption, numeric=True, shaded=shaded)


def _curve(results: AttackResults) -> Html | None:
    if not results.curves:
        return None
    lines = [Line.of(c.band, c.place % 8 + 1, dashed=c.baseline) for c in results.curves]
    chart = line_chart(results.grid, lines, x_name=say("robustness.queries_at_most"), y_name=say("robustness.success"))
    n = counts.between(curve.band.n[0] for curve in results.curves)
    return tag("figure", None, chart, legend(lines), tag("figcaption", None, say("robustness.budget_caption", n=n)))
