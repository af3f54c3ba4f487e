"""Architecture support: `examine` tests the tap on an architecture; `page` writes docs/support.md.

python -m regard.testing.support_table docs/support.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import CaptureError
from regard.records import Edit, Message, Text
from regard.registry import upstairs
from regard.tap.capture_call import Taps, capture_call
from regard.testing.architecture import Architecture, Inputs, tensors
from regard.testing.architectures import ARCHITECTURES
from regard.testing.relevance_support import RULES, relevance_refusals


@dataclass(frozen=True, slots=True)
class Finding:
    """Results for one architecture; every `error` is a largest absolute difference.

    row_error: sums of rows against 1 (or 1 minus the sink). own_error: weights against those of the `compared` sites
    that the model reports itself. modes_error: weights from queries and keys against weights made in the forward.
    light_error: the same against a later pass, which looks only where attention is known to be. output_error: the
    model's output under capture against without, relative to its largest entry; explicit_error: the same where weights
    are made in the forward. identity_error: the output when every site is scaled by 1, and (where nothing was padded)
    given its own weights back. smallest_change: over all sites with more than one key, the smallest effect of making
    that site uniform on the output. relevance: for each rule of `lrp` the reason for its refusal, None if it is
    verified.
    """

    sites: Mapping[str, int] = field(default_factory=dict)
    rejected: tuple[tuple[str, Text], ...] = ()
    checked: Text = ""
    empty_rows: int = 0
    row_error: float = 0.0
    sink: bool = False
    compared: int = 0
    own_error: float = 0.0
    modes_error: float = 0.0
    light_error: float = 0.0
    output_error: float = 0.0
    explicit_error: float = 0.0
    identity_error: float = 0.0
    smallest_change: float = 0.0
    restored: bool = True
    refusal: str = ""
    relevance: Mapping[str, Message | None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Subject:
    """A tiny model with its inputs, ready to be run."""

    row: Architecture
    model: nn.Module
    inputs: Inputs

    @staticmethod
    def of(row: Architecture, *, attention: str | None = None, dtype: torch.dtype = torch.float32) -> Subject:
        inputs = {
            k: v.to(dtype) if isinstance(v, Tensor) and v.is_floating_point() else v for k, v in row.inputs().items()
        }
        return Subject(row, row.build(attention=attention, dtype=dtype), inputs)

    def run(self, **more: Any) -> Any:
        """Run one forward pass; models that draw random numbers in it (Informer, ViT-MAE) draw the same ones."""
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            return self.model(**self.inputs, **more)

    def capture(self, **options: Any) -> tuple[Any, Taps]:
        masks = [self.inputs[k] for k in ("attention_mask", "decoder_attention_mask") if k in self.inputs]
        return capture_call(self.model, self.run, key_padding=masks or None, **options)

    def edited(self, edits: Iterable[Edit]) -> dict[str, Tensor]:
        """The output under edits."""
        return tensors(capture_call(self.model, self.run, edits=list(edits), check="never")[0])

    def state(self) -> tuple[object, ...]:
        """Possible leftovers of a capture: hooks, implementations, attributes."""
        hooks = tuple(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in self.model.modules())
        configs = tuple(getattr(getattr(m, "config", None), "_attn_implementation", None) for m in self.model.modules())
        return hooks, configs, tuple(tuple(vars(m)) for m in self.model.modules())


def examine(row: Architecture) -> Finding:
    """Capture one tiny model of this architecture in both modes, and compare with every known fact."""
    subject = Subject.of(row)
    plain = tensors(subject.run())
    before = subject.state()
    try:
        out, taps = subject.capture(mode="qk", check="always")
    except CaptureError as error:
        relevance = relevance_refusals(subject.model, subject.inputs)
        return Finding(refusal=str(error), restored=subject.state() == before, relevance=relevance)
    light = subject.capture(mode="qk")[1]
    explicit_out, explicit = subject.capture(mode="weights", check="always")
    dense = {s.site.key: s.dense() for s in taps.sites}
    row_error, empty = 0.0, 0
    for attention in dense.values():
        total = attention.weights.sum(-1, dtype=np.float64)
        if attention.sink is not None:
            total = total + attention.sink
        nothing = total == 0
        row_error = max(row_error, float(np.abs(total - 1)[~nothing].max(initial=0.0)))
        empty += int(nothing.sum())
    compared, own_error = _against_own(row, taps)
    same = [[Edit("scale", "*", factor=1.0)]]
    if not empty:
        same.append([Edit("replace", key, values=a.weights) for key, a in dense.items()])
    relevance = relevance_refusals(subject.model, subject.inputs)
    matter = [key for key, a in dense.items() if a.shape[3] > 1 and key not in row.inert]
    return Finding(
        sites=Counter(s.site.kind for s in taps.sites),
        rejected=tuple(taps.rejected),
        checked=taps.checked,
        empty_rows=empty,
        row_error=row_error,
        sink=any(a.sink is not None for a in dense.values()),
        compared=compared,
        own_error=own_error,
        modes_error=max(_difference(dense[s.site.key].weights, s.dense().weights) for s in explicit.sites),
        light_error=max(_difference(dense[s.site.key].weights, s.dense().weights) for s in light.sites),
        output_error=change(plain, tensors(out)),
        explicit_error=change(plain, tensors(explicit_out)),
        identity_error=max(change(plain, subject.edited(edits)) for edits in same),
        smallest_change=min(change(plain, subject.edited([Edit("uniform", k)])) for k in matter),
        restored=subject.state() == before and change(plain, tensors(subject.run())) == 0.0,
        relevance=relevance,
    )


def _difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    return float(np.abs(a - b).max()) if a.shape == b.shape else float("inf")


def change(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> float:
    """Largest difference between two outputs, relative to the largest entry (at least 1) of each tensor."""
    if before.keys() != after.keys():
        return float("inf")
    worst = 0.0
    for key, tensor in before.items():
        scale = max(1.0, float(tensor.abs().nan_to_num().max()))
        worst = max(worst, float((tensor - after[key]).abs().nan_to_num().max()) / scale)
    return worst


def _against_own(row: Architecture, taps: Taps) -> tuple[int, float]:
    """(sites compared, largest difference) with the weights that an eager twin of the model reports itself."""
    if not row.own:
        return 0, 0.0
    reported = Subject.of(row, attention="eager").run(output_attentions=True)
    compared, worst = 0, 0.0
    for path, pattern in row.own:
        own: Any = reported
        for step in path.split("."):
            own = own[step]
        sites = [s for s in taps.sites if fnmatchcase(s.site.key, pattern)]
        if len(sites) != len(own):
            return compared, float("inf")
        for site, weights in zip(sites, own, strict=True):
            captured = site.dense().weights
            # padded rows are 0 here and filler there
            empty = captured.sum(-1, keepdims=True) == 0
            fits = _fits(captured, weights)
            worst = max(worst, _difference(captured, np.where(empty, 0.0, weights.numpy())) if fits else float("inf"))
            compared += 1
    return compared, worst


def _fits(mine: np.ndarray[Any, Any], theirs: Tensor) -> bool:
    return tuple(mine.shape) == tuple(theirs.shape)


# -- the page -------------------------------------------------------------------------------------------------------

_HEAD = """\
# Supported architectures

Generated by `python -m regard.testing.support_table docs/support.md` from tiny random models of each architecture; a
test compares this page with a fresh run. Every row was captured in both modes (queries and keys; weights), proved
itself (`check="always"`), left the model's output unchanged (2e-6 of its largest entry), and left no softmax
unexplained; rows of weights sum to 1 within 1e-5, or to 1 minus the recorded sink. Giving every site its own weights
back changes nothing, making any one site uniform does. *Own weights* says how many sites were compared with what the
model reports when it is built eager and asked for attentions (equal within 1e-5), and why the others could not be:
those reports are a cross-check here, never the source. *lrp* names the rules of the explainer `lrp` that are proved:
the output unchanged, no relevance lost (0.1 %).
"""


def page(findings: Sequence[tuple[Architecture, Finding]]) -> str:
    """Render docs/support.md."""
    captured = [(row, found) for row, found in findings if not row.error]
    refusals = [(row, found) for row, found in findings if row.error]
    lines = [_HEAD, f"{len(captured)} architectures captured, {len(refusals)} rightly refused.", ""]
    for family in dict.fromkeys(row.family for row, _ in captured):
        lines += [f"## {family[0].upper()}{family[1:]}", ""]
        lines += ["| architecture | class | sites | why that many | own weights | lrp |", "|---|---|---|---|---|---|"]
        lines += [_line(row, found) for row, found in captured if row.family == family]
        lines.append("")
    lines += ["## Worth knowing", ""]
    lines += [f"- **{row.name}**: {row.note}." for row, _ in captured if row.note]
    lines += ["", "## Not attention", "", "A softmax that is not attention is listed with its reason:", ""]
    lines += [f"- {reason}: {', '.join(names)}." for reason, names in _reasons(captured).items()]
    lines += ["", "## Refused, and why", "", "These get an error, never an empty result:", ""]
    lines += [f"- **{row.name}** (`{row.model}`): {row.because}." for row, _ in refusals]
    lines += ["", "## Relevance propagation (`lrp`)", "", *_relevance_lines(findings)]
    return "\n".join(lines) + "\n"


def _line(row: Architecture, found: Finding) -> str:
    sites = ", ".join(f"{n} {kind}" for kind, n in sorted(found.sites.items()))
    own = f"{found.compared} of {row.count}" + (f": {row.silent}" if row.silent else "")
    return f"| {row.name} | `{row.model}` | {sites} | {row.because} | {own} | {_proved(found)} |"


def _proved(finding: Finding) -> str:
    return ", ".join(rule for rule, reason in finding.relevance.items() if reason is None) or "–"


def _relevance_lines(findings: Sequence[tuple[Architecture, Finding]]) -> list[str]:
    """Count the architectures on which each rule is verified, and list the reasons for the others."""
    counts = [f"{rule} on {sum(found.relevance[rule] is None for _, found in findings)}" for rule in RULES]
    lines = [
        f"Proved: {', '.join(counts)} of {len(findings)} architectures. The others are refused with the reason:",
        "",
    ]
    for row, finding in findings:
        reasons: dict[str, list[str]] = {}
        for rule, reason in finding.relevance.items():
            if reason is not None:
                reasons.setdefault(upstairs("render")(reason), []).append(rule)
        lines += [f"- **{row.name}** ({', '.join(rules)}): {reason}." for reason, rules in reasons.items()]
    return lines


def _reasons(findings: Sequence[tuple[Architecture, Finding]]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for row, finding in findings:
        for reason in dict.fromkeys(reason for _, reason in finding.rejected):
            reasons.setdefault(str(reason), []).append(row.name)
    return reasons


def main(argv: Sequence[str]) -> None:
    Path(argv[0]).write_text(page([(row, examine(row)) for row in ARCHITECTURES]), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
