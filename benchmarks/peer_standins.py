"""Stand-ins for TextAttack's imports that its recipe does not use, so that it can be compared.

TextAttack 0.3.11 imports flair (tags of parts of speech), which does not import beside transformers 5, and reads NLTK's
list of stop words, which is a download; scikit-learn's list takes its place. The code that is compared is its own.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import types
from pathlib import Path
from typing import Any


class _Unused:
    """Stand-in for a class or function that is never called."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NotImplementedError


def textattack() -> Any:
    """Return the module `textattack`."""
    if "textattack" in sys.modules:
        return sys.modules["textattack"]
    nltk: Any = importlib.import_module("nltk")
    try:
        nltk.corpus.stopwords.words("english")
    except LookupError:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        place = Path(tempfile.mkdtemp())  # nltk reads it when asked, so it stays as long as the process
        (place / "corpora" / "stopwords").mkdir(parents=True)
        (place / "corpora" / "stopwords" / "english").write_text("\n".join(sorted(ENGLISH_STOP_WORDS)), "utf-8")
        nltk.data.path.append(str(place))
        nltk.corpus.stopwords = importlib.reload(nltk.corpus).stopwords
    try:
        importlib.import_module("flair")
    except ImportError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "flair"]:
            del sys.modules[name]
        _stand_in("flair", "flair.data", "flair.models")
    return importlib.import_module("textattack")


def _stand_in(*names: str) -> None:
    """Replace these modules, and their parent packages, by empty ones."""
    for name in names:
        package, _, last = name.rpartition(".")
        module: Any = types.ModuleType(name)
        module.__getattr__ = _unused
        sys.modules[name] = module
        if package:
            setattr(sys.modules[package], last, module)


def _unused(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Unused
