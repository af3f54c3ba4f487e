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

from regard.moved import install

if TYPE_CHECKING:
    from regard import errors as errors
    from regard.audits.audit import audit as audit
    from regard.audits.explain import explain as explain
    from regard.audits.preconditions import preconditions as preconditions
    from regard.datasets.read import read as read
    from regard.judge.verdicts import verdicts as verdicts
    from regard.live.show import show as show
    from regard.models.capture import capture as capture
    from regard.models.capture_generation import capture_generation as capture_generation
    from regard.models.open.from_arrays import from_arrays as from_arrays
    from regard.models.open.load import load as load
    from regard.models.open.wrap import wrap as wrap
    from regard.models.walkthrough import walkthrough as walkthrough
    from regard.present.report.report import write_report as write_report
    from regard.records import Example as Example
    from regard.records import Spec as Spec
    from regard.registry import names as names
    from regard.store.run import Run as Run
    from regard.surveys.atlas import atlas as atlas
    from regard.surveys.cite import cite as cite
    from regard.surveys.heads.survey import heads as heads
    from regard.surveys.prune import prune as prune
    from regard.tap.declared_sites import register_site as register_site
    from regard.tap.monitor.watch import watch as watch
    from regard.training.train import train as train

__version__ = "0.1.0"
install()

_HOMES = {
    "atlas": "regard.surveys.atlas",
    "audit": "regard.audits.audit",
    "capture": "regard.models.capture",
    "capture_generation": "regard.models.capture_generation",
    "cite": "regard.surveys.cite",
    "explain": "regard.audits.explain",
    "from_arrays": "regard.models.open.from_arrays",
    "heads": "regard.surveys.heads.survey",
    "load": "regard.models.open.load",
    "names": "regard.registry",
    "preconditions": "regard.audits.preconditions",
    "prune": "regard.surveys.prune",
    "read": "regard.datasets.read",
    "register_site": "regard.tap.declared_sites",
    "show": "regard.live.show",
    "train": "regard.training.train",
    "verdicts": "regard.judge.verdicts",
    "walkthrough": "regard.models.walkthrough",
    "watch": "regard.tap.monitor.watch",
    "wrap": "regard.models.open.wrap",
    "write_report": "regard.present.report.report",
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
    "atlas",
    "audit",
    "capture",
    "capture_generation",
    "cite",
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
