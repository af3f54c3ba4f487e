"""A model that answers by chance: refused by `audit` with exit code 3, warned about by the other commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

NOISY = """
import torch
from torch import nn
import regard


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.out = nn.Embedding(64, 8), nn.Linear(8, 2)
        self.attention = nn.MultiheadAttention(8, 1, batch_first=True)

    def forward(self, ids, mask):
        h = self.embed(ids)
        h = self.attention(h, h, h, key_padding_mask=~mask)[0]
        logits = self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
        return logits + 0.5 * torch.randn(logits.shape)


def make():
    return regard.wrap(Noisy(), lambda t: [len(w) for w in t.split()], labels=["bad", "good"], mask="mask")
"""
FEW = ("--explainers", "attention,leave_one_out,random", "--metrics", "comprehensiveness")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("noisy") / "noisy.py"
    file.write_text(NOISY, "utf-8")
    return f"{file}:make"


def test_audit_refuses_and_exits_with_three(regard: Callable[..., Result], noisy: str, tmp_path: Path) -> None:
    result = regard("audit", noisy, "--data", "good.csv", "--out", str(tmp_path / "run"), *FEW)
    assert result.exit_code == 3, result.output
    words = " ".join(result.output.split())
    assert "The model is random" in words
    assert "Clearly better" not in words
    assert "comprehensiveness" in words  # the table stays
    assert (tmp_path / "run" / "report.html").is_file()


def test_other_commands_warn(regard: Callable[..., Result], noisy: str) -> None:
    explained = regard("explain", noisy, "--text", "a quiet moving film", "--json")
    assert "The model is random" in json.loads(explained.stdout)["notes"][0]
    for words in (
        ("perturb", noisy, "--data", "good.csv", "--noise", "keyboard", "--severity", "1", "--limit", "4"),
        ("heads", noisy, "--data", "good.csv", "--limit", "4"),
        ("attack", noisy, "--data", "good.csv", "--n", "2", "--budget", "5", "--attack", "greedy_char", "--no-sanity"),
    ):
        result = regard(*words)
        assert "The model is random" in " ".join(result.output.split()), (words, result.output)
