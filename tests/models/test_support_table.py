"""Every architecture of the support table: captured, proved, compared, edited; and docs/support.md says the same."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import CaptureError
from regard.tap.capture_call import capture_call
from regard.testing.architecture import Architecture, tensors
from regard.testing.architectures import ARCHITECTURES, find
from regard.testing.support_table import Finding, Subject, change, examine, page

pytestmark = [
    # what transformers' own code of DeBERTa and WavLM does with torch
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated"),
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask"),
]
PAGE = Path(__file__).parents[2] / "docs" / "support.md"
CAPTURED = [row for row in ARCHITECTURES if not row.error]
REFUSED = [row for row in ARCHITECTURES if row.error]


@cache
def found(name: str) -> Finding:
    return examine(find(name))


def by_name(row: Architecture) -> str:
    return row.name


@pytest.mark.parametrize("row", CAPTURED, ids=by_name)
def test_captured(row: Architecture) -> None:
    finding = found(row.name)
    assert finding.refusal == ""
    assert dict(finding.sites) == dict(row.sites), row.because
    assert "check.always" in repr(finding.checked)
    assert len(finding.rejected) == row.rejected, finding.rejected
    assert finding.row_error < 1e-5
    assert finding.sink == row.sink
    assert finding.modes_error < 1e-5
    assert finding.light_error < 1e-6
    assert finding.compared == row.count or row.silent
    assert finding.own_error < 1e-5
    assert finding.output_error < 2e-6
    assert finding.explicit_error < 1e-5
    assert finding.identity_error < 1e-5
    assert finding.smallest_change > 1e-3
    assert finding.restored


@pytest.mark.parametrize("row", REFUSED, ids=by_name)
def test_refused_with_a_clear_error(row: Architecture) -> None:
    finding = found(row.name)
    assert row.error in finding.refusal
    assert finding.restored


def test_a_model_without_attention_is_told_so() -> None:
    with pytest.raises(CaptureError, match=r"MambaForCausalLM.*this model has no attention"):
        Subject.of(find("Mamba")).capture()


class _Attention(nn.Module):
    """A softmax of queries and keys whose weights are used as values are, or in a way of its own."""

    def __init__(self, *, odd: bool) -> None:
        super().__init__()
        self.query, self.key, self.odd = nn.Linear(8, 8), nn.Linear(8, 8), odd

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(self.query(x) @ self.key(x).transpose(-1, -2), -1)
        return weights.cumsum(-1)[..., :1] * x if self.odd else weights @ x


def test_attention_that_is_not_understood_is_an_error_even_beside_a_site() -> None:
    x = torch.rand(2, 4, 8)
    sound = nn.Sequential(_Attention(odd=False), _Attention(odd=False))
    assert len(capture_call(sound, lambda: sound(x))[1].sites) == 2
    broken = nn.Sequential(_Attention(odd=False), _Attention(odd=True))
    with pytest.raises(CaptureError, match=r"1 in 1 whose use was not understood"):
        capture_call(broken, lambda: broken(x))


def test_the_table_is_wide_and_every_exception_has_its_reason() -> None:
    assert len(CAPTURED) >= 58
    assert len({row.name for row in ARCHITECTURES}) == len(ARCHITECTURES)
    for row in ARCHITECTURES:
        assert row.because, row.name
        assert row.silent or row.error or row.own, row.name
        assert not row.inert or row.note, row.name


@pytest.mark.parametrize("name", ["BERT", "Llama", "ViT", "gpt-oss", "DeBERTa-v2"])
def test_half_precision(name: str) -> None:
    """bfloat16 has 8 bits: the capture agrees with the model's own weights to that, and rows sum to 1."""
    subject = Subject.of(find(name), dtype=torch.bfloat16)
    plain = tensors(subject.run())
    own = Subject.of(find(name), attention="eager", dtype=torch.bfloat16).run(output_attentions=True).attentions
    for mode in ("qk", "weights"):
        out, taps = subject.capture(mode=mode, check="always")
        assert change(plain, tensors(out)) <= 0.05
        for site, reported in zip(taps.sites, own, strict=True):
            attention = site.dense()
            assert attention.weights.dtype == np.float32
            total = attention.weights.sum(-1)
            real = total > 0
            sink = 0.0 if attention.sink is None else attention.sink[real]
            np.testing.assert_allclose(total[real] + sink, 1.0, atol=2e-2)
            np.testing.assert_allclose(attention.weights[real], reported.float().numpy()[real], atol=0.06)


BATCHED = ["BERT", "ModernBERT", "DeBERTa-v2", "XLNet", "Llama", "Gemma3", "gpt-oss", "BLOOM", "T5", "BART", "CLIP"]


@pytest.mark.parametrize("name", BATCHED)
def test_weights_do_not_depend_on_batch_or_order(name: str) -> None:
    subject = Subject.of(find(name))
    inputs = subject.inputs
    together = [s.dense().weights for s in subject.capture()[1].sites]
    for order in ([1, 0], [0], [1]):
        subject.inputs = {k: v[order] for k, v in inputs.items()}
        for whole, part in zip(together, subject.capture()[1].sites, strict=True):
            np.testing.assert_allclose(part.dense().weights, whole[order], atol=1e-5)


@pytest.mark.parametrize(
    ("rule", "refusals"),
    [("cp", {"Reformer", "BLOOM", "RWKV"}), ("attnlrp", {"Reformer", "BLOOM", "RWKV", "LongT5 (local)"})],
)
def test_relevance_rules_are_proved_on_all_but_a_few(rule: str, refusals: set[str]) -> None:
    reasons = {row.name: found(row.name).relevance[rule] for row in ARCHITECTURES}
    assert {name for name, reason in reasons.items() if reason is not None} == refusals
    assert reasons["BLOOM"] is not None
    assert reasons["BLOOM"].key == "lrp.unseen_function"


def test_the_page_is_what_the_table_found() -> None:
    """`python -m regard.testing.support_table docs/support.md` writes it anew."""
    assert PAGE.read_text("utf-8") == page([(row, found(row.name)) for row in ARCHITECTURES])


def test_neither_torchvision_nor_timm_is_imported() -> None:
    Subject.of(find("DETR")).capture()
    assert not {"torchvision", "timm"} & set(sys.modules)
