"""Prompts of an answer audit: from a file, by name, or those that come with a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regard.datasets.answer_prompts import AnswerPrompt, answer_prompts, read_answer_prompts
from regard.datasets.copying_prompts import copying_prompts
from regard.datasets.planted_answers import planted_answers
from regard.errors import InputError, phrase
from regard.protocols import Model
from regard.registry import entry, named_model

if TYPE_CHECKING:
    from regard.datasets.copying_prompts import Rule


BUILT_IN = ("planted", "copying")
"""Prompts by name: `planted:KIND` (`datasets.planted_answers`) and `copying:RULE` (`datasets.copying_prompts`)."""
BUILT_IN_SIZE = 100


def prompts_of(
    model: str | Model, data: str | Path | Sequence[Any] | None, seed: int
) -> tuple[list[AnswerPrompt], str]:
    if data is None:
        data = _own_prompts(model)
    if not isinstance(data, str | Path):
        return answer_prompts(data), "prompts"
    name, _, kind = str(data).partition(":")
    if name == "planted" and not Path(data).exists():
        return answer_prompts(planted_answers(kind or "single", n=BUILT_IN_SIZE, seed=seed)), str(data)
    if name == "copying" and not Path(data).exists():
        rule = cast("Rule", kind or "asked")
        return copying_prompts(rule, n=BUILT_IN_SIZE, seed=seed), str(data)
    path = Path(data)
    if path.suffix != ".jsonl":
        raise InputError(
            phrase("errors.common.data_path", path=path.name),
            expected=phrase("errors.audits.jsonl_file_with_one_prompt"),
            got=path.suffix or phrase("errors.common.another_name"),
            remedy=" or ".join(f"{known}:KIND" for known in BUILT_IN),
        )
    return read_answer_prompts(path), path.stem


def _own_prompts(model: str | Model) -> str:
    """Prompts that come with a named model."""
    source = named_model(model) if isinstance(model, str) else None
    if source is not None and entry(source.kind, source.name).facts.get("prompts") == "copying":
        return f"copying:{source.params.get('rule', 'asked')}"
    raise InputError(
        "data",
        expected=phrase("errors.audits.prompts_with_sources"),
        got=phrase("errors.common.none"),
        remedy="--data FILE.jsonl",
    )


def prompt_texts(prompt: AnswerPrompt) -> list[str]:
    """Return every text of a prompt."""
    messages = (
        [prompt.messages] if isinstance(prompt.messages, str) else [str(m.get("content")) for m in prompt.messages]
    )
    documents = [str(value) for document in prompt.documents for value in document.values()]
    sources = [] if prompt.sources is None or isinstance(prompt.sources, str) else map(str, prompt.sources)
    return [*messages, *documents, *sources, prompt.answer or "", prompt.prefix]
