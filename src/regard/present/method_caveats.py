"""Caveats of the explanation methods that are shown."""

from __future__ import annotations

from collections.abc import Iterable

from regard.present.messages.messages import method_words, say
from regard.records import Spec
from regard.registry import entry

FEW = 3
"""Number of methods whose own caveats fit below a result."""


def method_caveats(methods: Iterable[str]) -> list[str]:
    """Return the caveat about attention if a method uses it, and when each of the others misleads. methods: Specs.

    >>> [line[:26] for line in method_caveats(["saliency"])]
    ['saliency misleads: if a un']
    """
    names = dict.fromkeys(Spec.parse("explainer", method).name for method in methods)
    facts = {name: entry("explainer", name).facts for name in names}
    others = [name for name in facts if "attention" not in str(facts[name].get("needs"))]
    lines = [say("caveat")] if len(others) < len(facts) else []
    if len(others) > FEW:
        return [*lines, say("caveat_of_others")]
    texts = {name: method_words("misleads.explainer", name, facts[name].get("misleads", "")) for name in others}
    return [*lines, *(say("caveat_of_method", method=name, text=text) for name, text in texts.items() if text)]
