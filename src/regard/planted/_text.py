"""Common parts of planted text models: words of the data set `planted`, and a BiLSTM with weights set by hand.

The embedding of a word is (evidence, loudness): +1, -1 or 0 by the label that the word indicates, and a number of its
own between 0 and 1. The LSTM has two cells in each direction with all gates wide open or shut: the first adds up
evidence for ever, the second holds the loudness of the word it reads now. So state i is known in closed form:

    ahead 0: tanh(sum of tanh(evidence) up to word i)      ahead 1: tanh(tanh(loudness of word i))
    back  0: tanh(sum of tanh(evidence) from word i on)    back  1: the same

and any mean of states, however weighted, has the sign of the label in its evidence: every planted model here predicts
correctly, whatever is wrong with its attention.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from regard.datasets.builtin.planted import DISTRACTORS, FILLERS, KEYWORDS, NEGATION, SHORTCUTS
from regard.models.adapter import TorchModel, Traits
from regard.models.open.huggingface import task_row
from regard.models.read.text import Alphabet, TextReader, Tokens
from regard.networks.vocabulary import MASK, PAD, SPECIALS, UNK, Vocabulary

WIDTH = 4
"""Features of a state: evidence and loudness read ahead, evidence and loudness read back."""
LABELS = ("negative", "positive")
_WIDE = 30.0  # sigmoid(30) is 1 in float32, sigmoid(-30) is 1e-13


class HandSet(nn.Module):
    """Words (batch, n) -> logits (batch, 2) through the planted `attention`.

    `attention` takes states (batch, n, WIDTH) and mask (batch, n), and returns the input of the output layer, (batch,
    WIDTH).
    """

    def __init__(self, vocabulary: Vocabulary, attention: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(vocabulary.words), 2, padding_idx=PAD)
        self.encoder = nn.LSTM(2, 2, batch_first=True, bidirectional=True)
        self.attention = attention
        self.output = nn.Linear(WIDTH, 2)
        with torch.no_grad():
            self.embedding.weight.copy_(torch.tensor([_meaning(i, word) for i, word in enumerate(vocabulary.words)]))
            for way in ("", "_reverse"):
                _open_gates(self.encoder, way)
            self.output.weight.copy_(torch.tensor([[-3.0, 0.0, -3.0, 0.0], [3.0, 0.0, 3.0, 0.0]]))
            self.output.bias.zero_()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        # padding adds nothing to any cell: the states of real words do not depend on how far a batch is filled up
        states, _ = self.encoder(self.embedding(tokens))
        logits: Tensor = self.output(self.attention(states, mask))
        return logits


def _meaning(number: int, word: str) -> tuple[float, float]:
    """Return (evidence, loudness) of a word."""
    if number < len(SPECIALS):
        return 0.0, 0.0
    evidence = next((2.0 * label - 1.0 for label, words in enumerate(KEYWORDS) if word in words), 0.0)
    return evidence, (number * 7 % 10 + 1) / 10


def _open_gates(lstm: nn.LSTM, way: str) -> None:
    """Set the gates, in torch's order: input, forget, cell, output; two cells each."""
    gates = torch.tensor([_WIDE, _WIDE, _WIDE, -_WIDE, 0.0, 0.0, _WIDE, _WIDE])
    lstm.get_parameter(f"bias_ih_l0{way}").copy_(gates)
    lstm.get_parameter(f"bias_hh_l0{way}").zero_()
    lstm.get_parameter(f"weight_hh_l0{way}").zero_()
    lstm.get_parameter(f"weight_ih_l0{way}").zero_()[4:6] = torch.eye(2)


def hand_set(name: str, attention: nn.Module) -> TorchModel:
    """Build a `HandSet` with that attention, ready for every method."""
    words = (*SPECIALS, *FILLERS, *KEYWORDS[0], *KEYWORDS[1], *DISTRACTORS, *SHORTCUTS, NEGATION)
    vocabulary = Vocabulary(tuple(dict.fromkeys(words)))
    network = HandSet(vocabulary, attention)
    return TorchModel(
        network,
        _reader(vocabulary),
        task_row("classification"),
        name=f"planted:{name}",
        labels=LABELS,
        traits=Traits(pooling="class", config={"planted": name}),
        embedding=network.embedding,
        call=_call,
    )


def _call(module: nn.Module, tensors: Mapping[str, Tensor]) -> Tensor:
    logits: Tensor = module(tensors["input_ids"], tensors["attention_mask"].bool())
    return logits


def _reader(vocabulary: Vocabulary) -> TextReader:
    def tokenize(text: str, pair: str | None) -> Tokens:
        whole = text if pair is None else f"{text} {pair}"
        ids, spans = vocabulary.encode(whole)
        nothing = np.zeros(len(ids), dtype=np.int64)
        names = tuple(whole[a:b] for a, b in spans)
        return Tokens(np.array(ids, dtype=np.int64), tuple(spans), nothing.astype(bool), nothing, names)

    alphabet = Alphabet(PAD, MASK, UNK, np.arange(len(SPECIALS), len(vocabulary.words)), unknown=UNK)
    return TextReader(tokenize, alphabet, maskable=False, kind="word")  # an LSTM reads on where attention may not
