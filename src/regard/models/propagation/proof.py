"""Propagation pass and its verification: same output, no unknown operation, no relevance lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.models.propagation.backward import active, unseen_function
from regard.models.propagation.ledger import Ledger, book_all
from regard.models.propagation.rules import SCORES, RelevanceRules, Rule, frozen
from regard.records import Message

TOLERANCE = 1e-3
"""Maximum lost relevance, relative to that of the output."""
HALF_TOLERANCE = 5e-2
"""The same in half precision."""
LARGEST = 100.0
"""Maximum sum of absolute relevances relative to that of the output; beyond it, they only cancel each other."""

Outputs = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Relevance of one pass; one entry per row of the batch.

    gradients: of each input, so that input x gradient is its relevance; None if the output does not read it. value: the
    objective. started: the relevance of the outputs (the value without the objective's own nonlinearity), reached: the
    relevance that arrives at the inputs, absorbed: the rest, by account.
    """

    gradients: tuple[Tensor | None, ...]
    value: Tensor
    started: Tensor
    started_size: Tensor
    reached: Tensor
    reached_size: Tensor
    absorbed: Mapping[str, Tensor]
    unseen: tuple[str, ...]
    by_row: bool

    @property
    def error(self) -> Tensor:
        """(rows,) the share of the output's relevance that is neither at the inputs nor in the ledger."""
        total = self.reached + torch.stack(list(self.absorbed.values())).sum(0)
        return (self.started - total).abs() / self.started_size.clamp(min=1e-12)

    @property
    def lost(self) -> float:
        """The share of lost relevance over the whole batch."""
        total = self.reached.sum() + sum(amount.sum() for amount in self.absorbed.values())
        return float((self.started.sum() - total).abs() / self.started_size.sum().clamp(min=1e-12))

    @property
    def tolerance(self) -> float:
        """The largest error of this precision."""
        half = any(g is not None and g.dtype in (torch.float16, torch.bfloat16) for g in self.gradients)
        return HALF_TOLERANCE if half else TOLERANCE

    @property
    def size(self) -> float:
        """Sum of absolute relevances at the inputs, relative to the outputs'."""
        return float(self.reached_size.sum() / self.started_size.sum().clamp(min=1e-12))


def propagated(
    module: nn.Module,
    call: Callable[[], Outputs],
    inputs: Sequence[Tensor],
    objective: Callable[[Outputs], Tensor],
    *,
    rule: Rule,
    rows: int,
    owners: Tensor | None = None,
) -> Flow | None:
    """Run `call` with the rules and propagate the relevance of the objective (rows,) to the inputs.

    `call` reads the inputs, which need gradients. None if no output depends on them. owners: for every entry of the
    only input the index of its unit, or -1: relevances that cancel inside a unit are harmless.
    """
    ledger = Ledger(rows)
    rules = RelevanceRules(rule, None if rule == "ln" else ledger)
    with frozen(module), torch.enable_grad(), rules:
        outputs = {name: getattr(out, SCORES, out) for name, out in call().items() if out.is_floating_point()}
    unseen = [*rules.unseen, *(name for out in outputs.values() if (name := unseen_function(out)))]
    read = {name: out.detach().requires_grad_() for name, out in outputs.items()}
    with torch.enable_grad():
        value = objective(read)
    names = list(read)
    slopes = torch.autograd.grad(value.sum(), [read[name] for name in names], allow_unused=True)
    ends = [(outputs[name], slope) for name, slope in zip(names, slopes, strict=True) if slope is not None]
    ends = [(out, slope) for out, slope in ends if active(out)]
    if not ends:
        return None
    tensors, seeds = [out for out, _ in ends], [slope for _, slope in ends]
    gradients = torch.autograd.grad(tensors, inputs, seeds, allow_unused=True)
    return Flow(
        gradients=gradients,
        value=value.detach(),
        started=book_all(ledger, tensors, seeds),
        started_size=book_all(ledger, [t.abs() for t in tensors], [s.abs() for s in seeds]),
        reached=book_all(ledger, inputs, gradients),
        reached_size=_sizes(ledger, inputs, gradients, owners),
        absorbed=ledger.amounts,
        unseen=tuple(dict.fromkeys(unseen)),
        by_row=not ledger.shared,
    )


def _sizes(
    ledger: Ledger, inputs: Sequence[Tensor], gradients: Sequence[Tensor | None], owners: Tensor | None
) -> Tensor:
    """(rows,) the sum of absolute relevances, each summed over the entries of its unit or position first."""
    total = torch.zeros(ledger.rows, dtype=torch.float64)
    for x, gradient in zip(inputs, gradients, strict=True):
        if gradient is not None:
            product = x.detach() * gradient
            if owners is not None and owners.shape == product.shape:
                units = product.new_zeros(len(product), int(owners.max()) + 2, dtype=torch.float64)
                units.scatter_add_(1, owners.flatten(1) + 1, product.flatten(1).double())
                total = total + ledger.by_row(units.abs())
                continue
            total = total + ledger.by_row((product.sum(-1) if product.dim() == 3 else product).abs())
    return total


def refusal(flow: Flow, rule: Rule, plain: Tensor | None = None) -> Message | None:
    """Return the reason why a pass is not sound. plain: the objective without the rules."""
    if plain is not None and not torch.equal(plain, flow.value):
        change = float((plain - flow.value).abs().max())
        if change > 1e-5 * max(1.0, float(plain.abs().max())):
            return Message.of("lrp.other_output", change=change)
    if rule == "ln":
        return None
    if flow.unseen:
        return Message.of("lrp.unseen_function", name=flow.unseen[0].removesuffix("Backward"))
    if not flow.lost <= flow.tolerance:
        return Message.of("lrp.lost", share=flow.lost)
    if flow.size > LARGEST:
        return Message.of("lrp.cancelling", times=flow.size)
    return None
