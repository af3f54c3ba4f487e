"""The caveat below an explanation is that of the methods shown."""

from __future__ import annotations

import pytest

from regard.present.messages.messages import method_words, say
from regard.present.method_caveats import method_caveats


def misleads(name: str) -> str:
    return say("caveat_of_method", method=name, text=method_words("misleads.explainer", name, ""))


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (["attention"], ["caveat"]),
        (["rollout", "attention_x_gradient"], ["caveat"]),
        (["lrp:rule=cp"], ["lrp"]),
        (["attention", "lrp", "lrp:rule=attnlrp"], ["caveat", "lrp"]),
        (["lrp", "lime", "saliency", "occlusion"], ["caveat_of_others"]),
    ],
)
def test_caveat_is_that_of_the_methods_shown(methods: list[str], expected: list[str]) -> None:
    lines = [say(key) if key.startswith("caveat") else misleads(key) for key in expected]
    assert method_caveats(methods) == lines
