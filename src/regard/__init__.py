"""Audit attention models: where they look, whether their maps can be trusted, and whether the predictions are robust.

    import regard
    model = regard.load("bilstm")                       # or a Hugging Face directory, or file.py:factory
    regard.explain(model, "a quiet, moving film", methods=("attention", "leave_one_out"))
    run = regard.audit("bilstm", "reviews", out="runs/first")

The names here are the everyday ones (docs/python.md lists them); everything else is imported from its own module.
Nothing heavy is imported before it is used: `import regard` loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.moved import install, moved_name

if TYPE_CHECKING:
    from regard import errors as errors
    from regard.audits.audit import audit as audit
    from regard.audits.explain import explain as explain
    from regard.datasets.read import read as read
    from regard.live.show import show as show
    from regard.models.capture import capture as capture
    from regard.models.open.load import load as load
    from regard.models.open.wrap import wrap as wrap
    from regard.present.report.report import write_report as write_report
    from regard.records import Example as Example
    from regard.registry import attack as attack
    from regard.registry import explainer as explainer
    from regard.registry import metric as metric
    from regard.registry import perturbation as perturbation
    from regard.registry import question as question
    from regard.store.run import Run as Run
    from regard.surveys.cite import cite as cite
    from regard.surveys.heads.survey import heads as heads
    from regard.training.train import train as train

__version__ = "0.1.0"
install()

_HOMES = {
    "attack": "regard.registry",
    "audit": "regard.audits.audit",
    "capture": "regard.models.capture",
    "cite": "regard.surveys.cite",
    "explain": "regard.audits.explain",
    "explainer": "regard.registry",
    "heads": "regard.surveys.heads.survey",
    "load": "regard.models.open.load",
    "metric": "regard.registry",
    "perturbation": "regard.registry",
    "question": "regard.registry",
    "read": "regard.datasets.read",
    "show": "regard.live.show",
    "train": "regard.training.train",
    "wrap": "regard.models.open.wrap",
    "write_report": "regard.present.report.report",
    "Example": "regard.records",
    "Run": "regard.store.run",
}
"""Public name -> the file that defines it."""

__all__ = [
    "Example",
    "Run",
    "__version__",
    "attack",
    "audit",
    "capture",
    "cite",
    "errors",
    "explain",
    "explainer",
    "heads",
    "load",
    "metric",
    "perturbation",
    "question",
    "read",
    "show",
    "train",
    "wrap",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "errors":
        value = import_module("regard.errors")
    else:
        return moved_name(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
