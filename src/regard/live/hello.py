"""The answer to `hello`: the model, the supported requests, and facts about every explainer."""

from __future__ import annotations

from regard.present.messages.messages import method_words
from regard.present.pack.records import Pack
from regard.protocols import Model
from regard.records import Json
from regard.registry import entry, names
from regard.store.run import Run


def hello_facts(
    model: Model | None, run: Run | None, first: Pack | None, *, live: bool, marks: bool
) -> dict[str, Json]:
    """Return {model, task, labels, run, methods, about, can}. model: None until opened; live: it can be opened."""
    facts = None if run is None else run.manifest["model"]
    name = model.name if model is not None else str(facts["name"]) if facts is not None else ""
    labels: list[Json] = list(model.labels) if model is not None else list((facts or {}).get("labels") or [])
    text = first is None or any(e.text is not None for e in first.manifest.examples)
    modality = model.modality if model is not None else "text" if text else "other"
    can: dict[str, Json] = {"ask": live and modality == "text", "edit": live, "alternative": live, "mark": marks}
    return {
        "model": name,
        "task": model.task if model is not None else str((facts or {}).get("task", "")),
        "labels": labels,
        "run": None if run is None else run.path.name,
        "about": _about(),
        "methods": list(names("explainer")),
        "can": can,
    }


def _about() -> dict[str, Json]:
    """Return the facts about every explainer that the page shows."""
    by_name: dict[str, Json] = {}
    for name in names("explainer"):
        explainer = entry("explainer", name)
        words = {"summary": explainer.summary, **{fact: explainer.facts.get(fact) for fact in ("cost", "misleads")}}
        by_name[name] = {
            **{key: explainer.facts.get(key) for key in ("signed", "role", "needs")},
            **{fact: method_words(f"{fact}.explainer", name, own) for fact, own in words.items()},
        }
    return by_name
