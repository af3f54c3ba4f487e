"""Ledger of relevance that does not reach the input: bias, position (and other constants), softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

ACCOUNTS = ("bias", "position", "softmax")
_MASK = 1e30
"""Magnitude beyond which entries are masks (-inf, or the smallest number), which carry no relevance."""


class Ledger:
    """Relevance absorbed in each row of a batch, by account; filled during the backward pass.

    A tensor whose first axis is the batch, or begins with it (windows, heads), is booked row by row; anything else is
    distributed evenly and marked in `shared`.
    """

    def __init__(self, rows: int) -> None:
        self.rows, self.shared = rows, False
        self.amounts = {account: torch.zeros(rows, dtype=torch.float64) for account in ACCOUNTS}

    @property
    def total(self) -> Tensor:
        """(rows,) over all accounts."""
        return torch.stack(list(self.amounts.values())).sum(0)

    def absorb(self, out: Tensor, account: str, constant: Tensor) -> Tensor:
        """Record the relevance that flows into a constant added to get `out`."""
        if not out.requires_grad:
            return out
        part = constant.detach().to(out.dtype)
        limited = account == "bias" or bool((part.abs() < _MASK).all())
        out.register_hook(lambda gradient: self._book(account, part, gradient, 1.0, limited=limited))  # type: ignore[no-untyped-call]
        return out

    def entering(self, x: Tensor, account: str) -> Tensor:
        """A view of an operand whose relevance is subtracted from the account."""
        view, values = x.view_as(x), x.detach()
        view.register_hook(self._booking(account, values, -1.0))  # type: ignore[no-untyped-call]
        return view

    def leaving(self, out: Tensor, account: str) -> Tensor:
        """Add the relevance of a result to the account."""
        out.register_hook(self._booking(account, out.detach().clone(), 1.0))  # type: ignore[no-untyped-call]
        return out

    def _booking(self, account: str, values: Tensor, sign: float) -> Callable[[Tensor], None]:
        return lambda gradient: self._book(account, values, gradient, sign, limited=False)

    def _book(self, account: str, values: Tensor, gradient: Tensor, sign: float, *, limited: bool) -> None:
        product = values * gradient
        if not limited:
            product = torch.where((gradient == 0) | (values.abs() >= _MASK), torch.zeros_like(product), product)
        self.amounts[account] += sign * self.by_row(product)

    def by_row(self, product: Tensor) -> Tensor:
        """(rows,) sums of a tensor."""
        if product.dim() and product.shape[0] % self.rows == 0 and product.numel():
            return product.detach().reshape(self.rows, -1).sum(1, dtype=torch.float64).cpu()
        self.shared = self.shared or self.rows > 1
        return (product.detach().sum(dtype=torch.float64) / self.rows).cpu().expand(self.rows)


def book_all(ledger: Ledger, tensors: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Tensor:
    """Return (rows,) the relevance of tensors whose gradients are known."""
    total = torch.zeros(ledger.rows, dtype=torch.float64)
    for tensor, gradient in zip(tensors, gradients, strict=True):
        if gradient is not None:
            product = tensor.detach() * gradient
            total = total + ledger.by_row(torch.where(gradient == 0, torch.zeros_like(product), product))
    return total
