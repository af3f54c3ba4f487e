"""The dossier: intended use, verdict, plan, limits, changes since another audit, decisions, sign-off."""

from __future__ import annotations

from dataclasses import dataclass

from regard.audits.conclusions.run_facts import RunReader
from regard.errors import phrase
from regard.present.evidence.change_report import change_rows
from regard.present.evidence.decision import decision_page
from regard.present.messages.messages import say
from regard.present.model_warning import model_warning
from regard.present.objective_scale import about_task
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.report import Paper, page_policy, page_style
from regard.present.report.sections.facts import fact_line
from regard.present.report.sections.limits import limits
from regard.present.report.sections.plan_followed import plan_followed
from regard.present.run_reader import Material
from regard.present.verdict_words import headline

SHEETS = "\n.sheet { break-before: page; } .sheet td { overflow-wrap: anywhere; white-space: normal; }"
SHEETS += " .sign td { height: 3em; min-width: 9em; }"
SIGNERS = ("author", "reviewer", "owner")


@dataclass(frozen=True, slots=True)
class DossierOptions:
    """Options of a dossier.

    intended_use: "" where the plan states it or nobody did. decisions: ids of examples, or how many of the first.
    """

    intended_use: str = ""
    decisions: tuple[str, ...] | int = 10


def dossier(run: RunReader, options: DossierOptions, *, baseline: RunReader | None = None, paper: Paper) -> str:
    """The whole page, in the language that is spoken."""
    material = Material(run)
    with about_task(material.task):
        return _page(material, options, None if baseline is None else Material(baseline), paper)


def _page(material: Material, options: DossierOptions, old: Material | None, paper: Paper) -> str:
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
        tag("h2", None, say("evidence.use")),
        tag("p", None, _intended_use(material, options)),
        tag("h2", None, say("evidence.verdict")),
        tag("p", None, headline(judgements[0]) if judgements else say("evidence.decision.unjudged")),
        tag("p", None, say("evidence.fingerprints", model=m["model"]["fingerprint"], data=m["data"]["fingerprint"])),
        tag("h2", None, say("plan_followed.title")),
        plan if plan is not None else tag("p", None, say("evidence.no_plan")),
        tag("h2", None, say("limits.title")),
        limits(material),
        tag("p", {"class": "note"}, say("caveat")),
        _changes(material, old),
        _decisions(material, options),
        _sign_off(),
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
    marked = [
        [part, before, tag("td", None, tag("strong", None, now)) if now != before else now]
        for part, before, now in rows
    ]
    return tag("section", {"class": "sheet"}, tag("h2", None, say("evidence.change.title")), table(head, marked))


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


def _sign_off() -> Html:
    head = [say(f"evidence.sign.{name}") for name in ("role", "name", "date", "signature")]
    rows = [[say(f"evidence.sign.{name}"), "", "", ""] for name in SIGNERS]
    return tag(
        "section",
        {"class": "sheet sign"},
        tag("h2", None, say("evidence.sign.title")),
        tag("p", None, say("evidence.sign.words")),
        table(head, rows),
    )
