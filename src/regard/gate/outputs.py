"""Outcome files: JUnit XML for CI, and GitHub Markdown for pull requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

from regard.errors import EnvironmentProblem, phrase
from regard.gate.check import Check
from regard.gate.gate import Outcome
from regard.records import Message, Text
from regard.store.blobs import room_on_disk, write_file
from regard.visible import visible

Render = Callable[[Text], str]
"""`present.messages.messages.render`, which this package must not import."""


def _line(outcome: Outcome, render: Render) -> str:
    """Render the verdict as one line."""
    return " ".join(render(outcome.verdict).split())


def junit(outcome: Outcome, render: Render) -> str:
    """Return JUnit XML with one test case per check; blocking checks fail or error, others only print."""
    suite = ET.Element("testsuite", name="regard gate")
    properties = ET.SubElement(suite, "properties")
    facts = {
        "run": outcome.run,
        "baseline": outcome.baseline,
        "policy": outcome.policy,
        "verdict": _line(outcome, render),
        "exit_code": str(outcome.exit_code),
    }
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))
    failures = errors = 0
    for check in outcome.checks:
        case = ET.SubElement(suite, "testcase", classname="regard.gate", name=_clean(check.name), time="0")
        kind = _kind(check, outcome.open_ones)
        sentence: Text = check.sentence
        if kind:
            failures, errors = failures + (kind == "failure"), errors + (kind == "error")
            element = ET.SubElement(case, kind, type=check.result, message=_clean(render(sentence)))
            element.text = _clean(render(sentence))
        else:
            if check.result != "pass":
                result = Message(f"term.gate.{check.result}")
                sentence = Message.of("gate.warning", result=result, sentence=sentence)
            ET.SubElement(case, "system-out").text = _clean(render(sentence))
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


def markdown(outcome: Outcome, render: Render) -> str:
    """Return the verdict, the notes and a table of checks, failures first."""
    lines = [f"## regard gate: {_escaped(_line(outcome, render))}", ""]
    about = {"run": outcome.run, "baseline": outcome.baseline, "policy": outcome.policy}
    lines += [f"- {_escaped(render(Message.of(f'gate.{key}', x=value)))}" for key, value in about.items() if value]
    lines += [f"- {_escaped(render(note))}" for note in outcome.notes]
    if outcome.checks:
        order = {"fail": 0, "inconclusive": 1, "pass": 2}
        head = " | ".join(render(Message("term.gate.columns")).split("|"))
        lines += ["", f"| {head} |", "|---|---|---|---:|---|"]
        for c in sorted(outcome.checks, key=lambda c: (order[c.result], c.level)):
            label = Message(f"term.gate.{c.result}")
            result = _escaped(render(Message.of("term.gate.warning", result=label) if c.level == "warn" else label))
            if c.result == "fail":
                result = f"**{result}**"
            result += f": {_escaped(render(c.reason))}" if c.reason else ""
            p = f", p {c.p:.2g}" if c.p is not None else ""
            cells = (
                result,
                _escaped(render(c.title or c.name)),
                render(c.number) + p,
                str(c.n),
                _escaped(render(c.required)),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    flat = " ".join(visible(text).split())
    for mark in ("\\", "|", "`", "*", "_", "<", "["):
        flat = flat.replace(mark, "\\" + mark)
    return flat


def write(outcome: Outcome, path: Path, form: Callable[[Outcome, Render], str], render: Render) -> None:
    """Write a file; append if it is the shared summary of a GitHub step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        added = os.environ.get("GITHUB_STEP_SUMMARY") == str(path)
        if not added:
            with room_on_disk(path):
                return write_file(path, form(outcome, render).encode())
        with path.open("a", encoding="utf-8") as file:
            file.write(form(outcome, render))
    except OSError as error:
        raise EnvironmentProblem(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.gate.place_that_can_written"),
            got=error.strerror or type(error).__name__,
        ) from error
