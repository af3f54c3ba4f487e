"""The dossier: intended use, verdict, plan, limits, changes since another audit, decisions, sign-off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.audits.conclusions.run_facts import RunReader
from regard.audits.preregistration import policy_deviations
from regard.errors import phrase
from regard.present.evidence.change_report import change_rows, share_sentence
from regard.present.evidence.decision import decision_page
from regard.present.messages.messages import rendered, say
from regard.present.model_warning import model_warning
from regard.present.objective_scale import about_task
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.report import Paper, page_policy, page_style, veiled
from regard.present.report.sections.facts import fact_line
from regard.present.report.sections.limits import limits
from regard.present.report.sections.plan_followed import plan_followed
from regard.present.run_reader import Material
from regard.present.verdict_words import headline

SHEETS = "\n.sheet { break-before: page; } .sheet td { overflow-wrap: anywhere; white-space: normal; }"
SHEETS += " .sign td { height: 3em; min-width: 9em; } section.sign p { overflow-wrap: anywhere; }"
SIGNERS = ("author", "reviewer", "owner")


@dataclass(frozen=True, slots=True)
class DossierOptions:
    """Options of a dossier.

    intended_use: "" if the plan states it or nobody did. decisions: ids of examples, or a number of them from the
    first.
    """

    intended_use: str = ""
    decisions: tuple[str, ...] | int = 10


@dataclass(frozen=True, slots=True)
class Beside:
    """Files beside the run. policy: content of its file; gate: its result, as `regard gate --json` prints it."""

    baseline: RunReader | None = None
    policy: bytes | None = None
    gate: Mapping[str, Any] | None = None


def dossier(run: RunReader, options: DossierOptions, *, beside: Beside, paper: Paper) -> str:
    """Render the whole page in the current language."""
    material = Material(run)
    with about_task(material.task):
        return _page(material, options, beside, paper)


def _page(material: Material, options: DossierOptions, beside: Beside, paper: Paper) -> str:
    m = material.manifest
    style = page_style(paper) + SHEETS
    title = say("evidence.title", model=m["model"]["name"], data=m["data"]["name"])
    head = tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": page_policy(style, "")}),
        tag("title", None, title),
        tag("style", None, Html(style)),
    )
    judgements = m.get("judgements") or ()
    plan = plan_followed(material)
    main = tag(
        "main",
        None,
        tag("h1", None, title),
        fact_line(material),
        tag("p", {"class": "warn"}, warning) if (warning := model_warning(material)) else None,
        veiled(material),
        tag("h2", None, say("evidence.use")),
        tag("p", None, _intended_use(material, options)),
        tag("h2", None, say("evidence.verdict")),
        tag("p", None, headline(judgements[0]) if judgements else say("evidence.decision.unjudged")),
        tag("p", None, say("evidence.fingerprints", model=m["model"]["fingerprint"], data=m["data"]["fingerprint"])),
        tag("h2", None, say("plan_followed.title")),
        plan if plan is not None else tag("p", None, say("evidence.no_plan")),
        tag("h2", None, say("evidence.policy.title")),
        _policy(beside.gate),
        _other_policy(material, beside.policy),
        tag("h2", None, say("limits.title")),
        limits(material),
        tag("p", {"class": "note"}, say("caveat")),
        _changes(material, None if beside.baseline is None else Material(beside.baseline)),
        _decisions(material, options),
        _sign_off(material),
    )
    return "<!doctype html>\n" + join(tag("html", {"lang": say("language.html")}, head, tag("body", None, main))) + "\n"


def _intended_use(material: Material, options: DossierOptions) -> str:
    planned = str(((material.manifest.get("plan") or {}).get("plan") or {}).get("intended_use") or "")
    return options.intended_use or planned or say("evidence.no_use")


def _changes(material: Material, old: Material | None) -> Html | None:
    if old is None:
        return None
    rows = change_rows(material, old)
    head = [say(f"evidence.change.{name}") for name in ("part", "before", "now")]
    flags = [
        [part, before, tag("td", None, tag("strong", None, now)) if now != before else now]
        for part, before, now in rows
    ]
    title = tag("h2", None, say("evidence.change.title"))
    sentence = tag("p", None, share_sentence(material, old), " ", say("evidence.change.bold"))
    return tag("section", {"class": "sheet"}, title, sentence, table(head, flags))


def _policy(gate: Mapping[str, Any] | None) -> Html:
    """Result of the policy, check by check."""
    if gate is None:
        return tag("p", None, say("evidence.policy.none"))
    head = [say(f"evidence.policy.{name}") for name in ("check", "required", "measured", "result")]
    outcome = rendered(dict(gate))
    rows = [[str(c["name"]), str(c["required"]), _estimate(c), str(c["result"])] for c in outcome["checks"]]
    return join(tag("p", None, str(outcome["line"])), table(head, rows))


def _other_policy(material: Material, policy: bytes | None) -> Html | None:
    plan = (material.manifest.get("plan") or {}).get("plan") or {}
    rows = policy_deviations(plan, policy)
    return tag("p", {"class": "warn"}, say("evidence.policy.other")) if rows else None


def _estimate(check: Mapping[str, Any]) -> str:
    numbers = [check.get(name) for name in ("estimate", "low", "high")]
    if any(not isinstance(x, int | float) for x in numbers):
        return str(check.get("reason") or "–")
    estimate, low, high = (f"{float(x):.3f}" for x in numbers if x is not None)
    return f"{estimate} [{low}, {high}], n = {check.get('n')}"


def _decisions(material: Material, options: DossierOptions) -> list[Html]:
    wished = options.decisions
    if isinstance(wished, int):
        examples = material.examples[:wished]
    else:
        from regard.errors import UnknownName

        for name in wished:
            if name not in material.by_id:
                raise UnknownName(phrase("errors.common.example_this_run"), name, material.by_id)
        examples = [material.by_id[name] for name in wished]
    pages = (decision_page(material, example) for example in examples)
    return [page for page in pages if page is not None]


def _sign_off(material: Material) -> Html:
    m = material.manifest
    head = [say(f"evidence.sign.{name}") for name in ("role", "name", "date", "signature")]
    rows = [[say(f"evidence.sign.{name}"), "", "", ""] for name in SIGNERS]
    return tag(
        "section",
        {"class": "sheet sign"},
        tag("h2", None, say("evidence.sign.title")),
        tag("p", None, say("evidence.sign.words")),
        tag("p", None, say("evidence.fingerprints", model=m["model"]["fingerprint"], data=m["data"]["fingerprint"])),
        table(head, rows),
    )
