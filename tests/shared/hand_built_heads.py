"""Models whose heads are set by hand, so that it is known what each of them does."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.models.open.wrap import wrap

WORDS = 40
SHARP = 60.0


def encode(text: str) -> list[int]:
    """Words are w0, w1, ...: their numbers are their ids."""
    return [int(word[1:]) for word in text.split()]


class TwoHeads(nn.Module):
    """One layer, two heads: the first looks one back, the second at the query's own token. Queries and keys are one-hot
    codes of place (head 0) and of word (head 1); `sharp` 0 makes both uniform."""

    def __init__(self, *, sharp: float = SHARP, length: int = 64) -> None:
        super().__init__()
        self.sharp, self.length = sharp, length
        self.embed = nn.Embedding(WORDS, WORDS)
        self.embed.weight.data = torch.eye(WORDS)
        self.mix = nn.Linear(2 * WORDS, 2, bias=False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.mix.weight.data = torch.randn(2, 2 * WORDS)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        words = self.embed(ids)
        places = torch.eye(self.length)[: ids.shape[1]].expand(len(ids), -1, -1)
        before = torch.cat([places[:, :1], places[:, :-1]], 1)
        wide = max(self.length, WORDS)
        pad = [torch.nn.functional.pad(x, (0, wide - x.shape[-1])) for x in (before, words, places, words)]
        query, key = torch.stack(pad[:2], 1), torch.stack(pad[2:], 1)
        scores = self.sharp * query @ key.transpose(-1, -2)
        scores = scores.masked_fill(~mask[:, None, None], float("-inf"))
        value = words[:, None].expand(-1, 2, -1, -1)
        heads = torch.softmax(scores, -1) @ value
        read = heads.transpose(1, 2).flatten(2)
        real = mask[..., None].float()
        logits: Tensor = self.mix((read * real).sum(1) / real.sum(1))
        return logits


class InductionHead(nn.Module):
    """Two causal layers of two heads. Layer 0 head 0 copies the previous word into the stream; layer 1 head 0 looks for
    the place whose previous word is the present one and predicts the word that stands there. Heads 1 do nothing: their
    scores are 0 and their values too."""

    def __init__(self, *, words: int = WORDS, length: int = 64) -> None:
        super().__init__()
        self.words, self.length = words, length
        self.embed = nn.Embedding(words, words)
        self.embed.weight.data = torch.eye(words)
        # stream: word (words) | place (length) | previous word (words) | found word (words)
        self.width = 3 * words + length
        self.first, self.second = CausalHeads(self.width), CausalHeads(self.width)
        word, place, previous, found = self._parts()
        before = torch.zeros(length, length)
        before[torch.arange(1, length), torch.arange(length - 1)] = 1.0
        self.first.set_head(0, query=(place, before), key=(place, torch.eye(length)), value=(word, previous))
        same = torch.eye(words)
        self.second.set_head(0, query=(word, same), key=(previous, same), value=(word, found))
        self.out = nn.Linear(self.width, words, bias=False)
        self.out.weight.data = torch.zeros(words, self.width)
        self.out.weight.data[:, found] = 10.0 * torch.eye(words)

    def _parts(self) -> tuple[slice, slice, slice, slice]:
        a, b, c = self.words, self.words + self.length, 2 * self.words + self.length
        return slice(0, a), slice(a, b), slice(b, c), slice(c, self.width)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        batch, n = ids.shape
        places = torch.eye(self.length)[:n].expand(batch, -1, -1)
        stream = torch.cat([self.embed(ids), places, torch.zeros(batch, n, 2 * self.words)], -1)
        stream = stream + self.first(stream)
        stream = stream + self.second(stream)
        logits: Tensor = self.out(stream)
        return logits


class CausalHeads(nn.Module):
    """Two heads of causal attention with an output projection each may be read from."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(2, width, width))
        self.key = nn.Parameter(torch.zeros(2, width, width))
        self.value = nn.Parameter(torch.zeros(2, width, width))
        self.join = nn.Linear(2 * width, width, bias=False)
        self.join.weight.data = torch.cat([torch.eye(width), torch.eye(width)], 1)

    def set_head(
        self, head: int, *, query: tuple[slice, Tensor], key: tuple[slice, Tensor], value: tuple[slice, slice]
    ) -> None:
        (part, code), (other, same) = query, key
        self.query.data[head, part, : code.shape[1]] = SHARP * code
        self.key.data[head, other, : same.shape[1]] = same
        read, written = value
        self.value.data[head, read, written] = torch.eye(read.stop - read.start)

    def forward(self, stream: Tensor) -> Tensor:
        n = stream.shape[1]
        query, key, value = (torch.einsum("bnd,hde->bhne", stream, w) for w in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2)
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        heads = torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ value
        joined: Tensor = self.join(heads.transpose(1, 2).flatten(2))
        return joined


def two_heads(*, sharp: float = SHARP) -> TorchModel:
    return wrap(TwoHeads(sharp=sharp), encode, labels=["no", "yes"], mask="mask", mask_id=1, pad_id=0)


def induction_head() -> TorchModel:
    return wrap(InductionHead(), encode, task="next_token", mask="mask", mask_id=1, pad_id=0, max_length=64)
