"""Outcome files: JUnit XML for CI, and GitHub Markdown for pull requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

from regard.errors import EnvironmentProblem
from regard.gate.check import Check
from regard.gate.gate import Outcome
from regard.store.blobs import room_on_disk, write_file
from regard.visible import visible

RESULT_LABELS = {"pass": "passed", "fail": "**failed**", "inconclusive": "inconclusive"}


def junit(outcome: Outcome) -> str:
    """Return JUnit XML with one test case per check; blocking checks fail or error, others only print."""
    suite = ET.Element("testsuite", name="regard gate")
    properties = ET.SubElement(suite, "properties")
    facts = {
        "run": outcome.run,
        "baseline": outcome.baseline,
        "policy": outcome.policy,
        "verdict": outcome.verdict,
        "exit_code": str(outcome.exit_code),
    }
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))
    failures = errors = 0
    for check in outcome.checks:
        case = ET.SubElement(suite, "testcase", classname="regard.gate", name=_clean(check.name), time="0")
        kind = _kind(check, outcome.open_ones)
        if kind:
            failures, errors = failures + (kind == "failure"), errors + (kind == "error")
            element = ET.SubElement(case, kind, type=check.result, message=_clean(check.sentence))
            element.text = _clean(check.sentence)
        else:
            warned = "" if check.result == "pass" else f"warning, {check.result}: "
            ET.SubElement(case, "system-out").text = _clean(warned + check.sentence)
    if outcome.problem is not None:
        errors += 1
        case = ET.SubElement(suite, "testcase", classname="regard.gate", name="policy", time="0")
        ET.SubElement(case, "error", type=type(outcome.problem).__name__, message=_clean(str(outcome.problem)))
    count = len(outcome.checks) + (outcome.problem is not None)
    for name, number in (("tests", count), ("failures", failures), ("errors", errors), ("skipped", 0)):
        suite.set(name, str(number))
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _kind(check: Check, open_ones: str) -> str:
    if check.level == "warn" or check.result == "pass":
        return ""
    if check.result == "fail":
        return "failure"
    return {"report": "error", "fail": "failure", "warn": ""}[open_ones]


def _clean(text: str) -> str:
    """Remove characters that XML 1.0 forbids; data may contain control characters."""
    return "".join(
        c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?" for c in text
    )


def markdown(outcome: Outcome) -> str:
    """Return the verdict, the notes and a table of checks, failures first."""
    lines = [f"## regard gate: {_escaped(outcome.verdict)}", ""]
    about = [("run", outcome.run), ("baseline", outcome.baseline), ("policy", outcome.policy)]
    lines += [f"- {name}: {_escaped(value)}" for name, value in about if value]
    lines += [f"- {_escaped(note)}" for note in outcome.notes]
    if outcome.checks:
        order = {"fail": 0, "inconclusive": 1, "pass": 2}
        lines += ["", "| result | check | found [interval] | n | required |", "|---|---|---|---:|---|"]
        for c in sorted(outcome.checks, key=lambda c: (order[c.result], c.level)):
            soft = " (warning only)" if c.level == "warn" else ""
            result = f"{RESULT_LABELS[c.result]}{soft}" + (f": {_escaped(c.reason)}" if c.reason else "")
            p = f", p {c.p:.2g}" if c.p is not None else ""
            cells = (result, _escaped(c.name), f"{c.number}{p}", str(c.n), _escaped(c.required))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    flat = " ".join(visible(text).split())
    for mark in ("\\", "|", "`", "*", "_", "<", "["):
        flat = flat.replace(mark, "\\" + mark)
    return flat


def write(outcome: Outcome, path: Path, form: Callable[[Outcome], str]) -> None:
    """Write a file; append if it is the shared summary of a GitHub step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        added = os.environ.get("GITHUB_STEP_SUMMARY") == str(path)
        if not added:
            with room_on_disk(path):
                return write_file(path, form(outcome).encode())
        with path.open("a", encoding="utf-8") as file:
            file.write(form(outcome))
    except OSError as error:
        raise EnvironmentProblem(
            f"file {path}", expected="a place that can be written to", got=error.strerror or type(error).__name__
        ) from error
