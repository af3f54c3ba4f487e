"""Rows of `regard support` for a model that reads words and a picture: maps of words, and citers of regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.files import kind_of, read_json
from regard.foreign_code import described
from regard.message import Text
from regard.records import Spec
from regard.registry import build, names

SIDE = 64
NEW_TOKENS = 3


def reads_words_and_pictures(directory: str) -> bool:
    """Return whether a directory holds a vision-language model (LLaVA, BLIP, CLIP), according to its config."""
    path = Path(directory) / "config.json"
    if kind_of(path) != "file":
        return False
    config = read_json(path)
    return isinstance(config, dict) and isinstance(config.get("vision_config"), dict)


def tried_on_picture(
    pair: tuple[Any, Any], text: str | None, image: Path | None, seed: int
) -> Iterator[dict[str, Any]]:
    """Try the maps of words and every citer once on a text and a picture (default: the picture's token, noise).

    pair: the module and its processor.
    """
    from regard.datasets.picture_decoder import decoded
    from regard.models.image_text import look
    from regard.models.word_maps import word_maps

    prompt = text or f"{getattr(pair[1], 'image_token', '')} :".strip()
    noise: Any = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    picture = noise if image is None else decoded(image, str(image))[0]
    yield _attempt("view", "words_and_patches", lambda: look(*pair, prompt, picture))
    yield _attempt("view", "written_words", lambda: word_maps(*pair, prompt, picture, new_tokens=NEW_TOKENS))
    case: Any = None

    def cited(name: str) -> None:
        nonlocal case
        case = case or _case(pair, prompt, picture, seed)
        build(Spec("citer", name))(case)

    for name in names("citer"):
        yield _attempt("citer", name, partial(cited, name))


def _attempt(kind: str, name: str, call: Callable[[], object]) -> dict[str, Any]:
    """Return a row: whether the call succeeds, and the reason if not."""
    why: Text = ""
    try:
        call()
    except RegardError as problem:
        why = str(problem)
    except Exception as problem:  # each model and processor fails in its own way
        why = described(problem)
    return {"kind": kind, "name": name, "works": not why, "why": why, "needs": ""}


def _case(pair: tuple[Any, Any], prompt: str, picture: Any, seed: int) -> Any:
    """Build the case of the answer that the model writes, with the four quadrants of the picture as sources."""
    from regard.models.chat.answer_case import AnswerCase
    from regard.models.chat.picture_chat import PictureReader, refuse_other_positions

    reader = PictureReader(pair, prompt, picture, sources="2x2")
    case = AnswerCase(reader, reader.answer(None, NEW_TOKENS), seed=seed)
    refuse_other_positions(reader.chat, case.rows)
    return case
