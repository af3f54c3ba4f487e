"""`regard list`: all registered methods, without importing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, results
from regard.cli.verb import verb
from regard.present.messages.messages import FACTS, columns, id_words, method_words, say

if TYPE_CHECKING:
    from regard.registry import Entry

TOLD = ("question", "formula", "scale", "cost", "misleads", "differs", "cite")
"""Facts below a method that is listed by its name."""


@verb(
    "list",
    "regard list",
    "regard list explainer",
    "regard list metric --json",
    "regard list source",
    "regard list retrieval",
)
@click.argument("kind", required=False)
def command(kind: str | None, as_json: bool) -> None:
    from regard.errors import RegardError
    from regard.registry import ROOMS, entry, names

    if kind is None:
        counts = {name: len(names(name)) for name in ROOMS}
        if as_json:
            print_json(counts)
        else:
            _kinds(counts)
        return
    singular = kind if kind in ROOMS or not kind.endswith("s") else kind[:-1]
    if singular not in ROOMS and (matches := (methods := _named(kind)) or _mentioning(kind)):
        if as_json:
            print_json(list(map(_in_words, matches)))
        else:
            for method in matches:
                _entries(method.kind, [method])
                if methods:
                    _facts(method)
        return
    entries, broken = [], {}
    for name in names(singular):
        try:
            entries.append(entry(singular, name))
        except RegardError as error:  # one plug-in that cannot be imported must not hide the others
            broken[name] = str(error)
    if as_json:
        problems = [{"kind": singular, "name": name, "problem": problem} for name, problem in broken.items()]
        print_json([*map(_in_words, entries), *problems])
    else:
        _entries(singular, entries)
        for problem in broken.values():
            results().print(say("term.list.broken", problem=problem), markup=False, style="yellow", soft_wrap=True)


def _named(name: str) -> list[Entry]:
    from regard.registry import ROOMS, entry, names

    return [entry(room, name) for room in ROOMS if name in names(room)]


def _mentioning(word: str) -> list[Entry]:
    """Return the methods whose summary, facts or parameters contain `word` (ROAR, finetuned_mask) as a whole word."""
    import json
    import re

    from regard.errors import RegardError
    from regard.registry import ROOMS, entry, names

    whole_word, matches = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE), []
    for room in ROOMS:
        for name in names(room):
            try:
                method = entry(room, name)
            except RegardError:  # a plug-in that cannot be imported is listed with its kind
                continue
            if whole_word.search(json.dumps(method.to_json(), ensure_ascii=False)):
                matches.append(method)
    return matches


def _kinds(counts: dict[str, int]) -> None:
    from regard.present.terminal.terminal import plain_table

    rows = [(name, str(count), f"regard list {name}") for name, count in counts.items()]
    results().print(plain_table(columns("term.list.kinds"), rows, right=(1,)))


def _in_words(entry: Entry) -> dict[str, Any]:
    """Return an entry as JSON, its facts in the current language."""
    facts = {
        name: method_words(f"{name}.{entry.kind}", entry.name, value) if name in FACTS else value
        for name, value in entry.facts.items()
    }
    return entry.to_json() | {
        "summary": method_words(f"summary.{entry.kind}", entry.name, entry.summary),
        "facts": facts,
    }


def _entries(kind: str, entries: list[Entry]) -> None:
    from regard.present.terminal.terminal import plain_table

    rows = [(e.name, method_words(f"summary.{kind}", e.name, e.summary), _parameters(e), _needs(e)) for e in entries]
    out = results()
    out.print(plain_table((kind, *columns("term.list.columns")), rows))
    first = say("term.list.nothing", kind=kind)
    if entries and kind != "language":
        first = "\n" + say("term.list.import", module=entries[0].module, name=entries[0].name)
    out.print(first, markup=False, style="dim")


def _facts(method: Entry) -> None:
    """Print the facts that say how far one method can be trusted."""
    for name in TOLD:
        if text := method.facts.get(name):
            text = method_words(f"{name}.{method.kind}", method.name, text)
            results().print(say(f"term.list.{name}", text=text), markup=False, soft_wrap=True)


def _parameters(entry: Entry) -> str:
    parts = []
    for p in entry.parameters:
        choices = f" ({'|'.join(map(str, p.values))})" if p.values else ""
        parts.append(f"{p.name}={_value(p.default)}{choices}")
    return ", ".join(parts) or "–"


def _value(value: Any) -> str:
    return say("term.none") if value is None else str(value)


def _needs(entry: Entry) -> str:
    facts = entry.facts
    needs = facts.get("needs")
    if isinstance(needs, list):
        return say("listed").join(id_words("need", str(need)) for need in needs) or "–"
    if "access" in facts:  # an attack
        return id_words("attack.access", str(facts["access"]))
    data = facts.get("data")
    return say("term.list.data", name=data) if data else "–"
