"""What does an attention model look at, may I believe what I see, and does it hold?

    import regard
    model = regard.load("bilstm")                       # or a Hugging Face directory, or file.py:factory
    regard.explain(model, "a quiet, moving film", methods=("attention", "leave_one_out"))
    run = regard.audit("bilstm", "reviews", out="runs/first")

Nothing heavy is imported before it is used: `import regard` loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard import errors as errors
    from regard.datasets.read import read as read
    from regard.evaluate.audit import audit as audit
    from regard.evaluate.explain import explain as explain
    from regard.evaluate.head_survey.survey import heads as heads
    from regard.evaluate.preconditions import preconditions as preconditions
    from regard.evaluate.prune import prune as prune
    from regard.judge.verdicts import verdicts as verdicts
    from regard.live.show import show as show
    from regard.models.arrays import from_arrays as from_arrays
    from regard.models.capturing import capture as capture
    from regard.models.generating import capture_generation as capture_generation
    from regard.models.load import load as load
    from regard.models.registered import register_site as register_site
    from regard.models.walkthrough import walkthrough as walkthrough
    from regard.models.watching import watch as watch
    from regard.models.wrapped import wrap as wrap
    from regard.present.report import write_report as write_report
    from regard.records import Example as Example
    from regard.records import Spec as Spec
    from regard.registry import names as names
    from regard.store.run import Run as Run
    from regard.training.train import train as train

__version__ = "0.1.0"

_HOMES = {
    "audit": "regard.evaluate.audit",
    "capture": "regard.models.capturing",
    "capture_generation": "regard.models.generating",
    "explain": "regard.evaluate.explain",
    "from_arrays": "regard.models.arrays",
    "heads": "regard.evaluate.head_survey.survey",
    "load": "regard.models.load",
    "names": "regard.registry",
    "preconditions": "regard.evaluate.preconditions",
    "prune": "regard.evaluate.prune",
    "read": "regard.datasets.read",
    "register_site": "regard.models.registered",
    "show": "regard.live.show",
    "train": "regard.training.train",
    "verdicts": "regard.judge.verdicts",
    "walkthrough": "regard.models.walkthrough",
    "watch": "regard.models.watching",
    "wrap": "regard.models.wrapped",
    "write_report": "regard.present.report",
    "Example": "regard.records",
    "Run": "regard.store.run",
    "Spec": "regard.records",
}
"""Public name -> the file that defines it."""

__all__ = [
    "Example",
    "Run",
    "Spec",
    "__version__",
    "audit",
    "capture",
    "capture_generation",
    "errors",
    "explain",
    "from_arrays",
    "heads",
    "load",
    "names",
    "preconditions",
    "prune",
    "read",
    "register_site",
    "show",
    "train",
    "verdicts",
    "walkthrough",
    "watch",
    "wrap",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "errors":
        value = import_module("regard.errors")
    else:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
