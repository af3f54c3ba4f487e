"""Recipe: fine-tune the upper layers of a BERT, on remembered states of the lower ones.

The lower layers stay as they are, so each text goes through them once, not once per epoch. The pooler over [CLS] and
the classification head are trained with the upper layers: the result is a plain `BertForSequenceClassification`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.protocols import Dataset
from regard.records import Json
from regard.training.batches import SequenceRows, bucketed
from regard.training.hugging_face import quiet
from regard.training.labels import label_names, numbered
from regard.training.loop import Settings, evaluate, fit, seeded
from regard.training.progress import Report, tell
from regard.training.terms import cross_entropy
from regard.training.text_classifier import training_facts


class Given(nn.Module):
    """Stands where the embeddings of a BERT stand, and passes on states that were computed before."""

    def forward(
        self,
        input_ids: Any = None,
        token_type_ids: Any = None,
        position_ids: Any = None,
        inputs_embeds: Tensor | None = None,
        past_key_values_length: int = 0,
    ) -> Tensor:
        assert inputs_embeds is not None
        return inputs_embeds


class Upper(nn.Module):
    """The layers from `first` on, the pooler and the head of `model`, as a network: states, mask -> logits.

    The parts are shared with `model`: training this trains that.
    """

    def __init__(self, model: Any, first: int) -> None:
        super().__init__()
        self.model = _small(model, type(model))
        self.model.bert.embeddings = Given()
        self.model.bert.encoder.layer = nn.ModuleList(list(model.bert.encoder.layer)[first:])
        self.model.bert.pooler = model.bert.pooler
        self.model.classifier = model.classifier

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        logits: Tensor = self.model(inputs_embeds=states, attention_mask=mask.long()).logits
        return logits


def fine_tune(
    source: Path,
    train: Dataset,
    dev: Dataset,
    test: Dataset,
    out: Path,
    settings: Settings,
    *,
    layers: int = 2,
    longest: int = 128,
    state: Path | None = None,
) -> dict[str, Json]:
    """Train the upper `layers` of the BERT in `source` and a head; save a Hugging Face directory into `out`."""
    import transformers

    names = label_names(train)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)
    kind: Any = transformers.BertForSequenceClassification
    with seeded(settings.seed, "weights"), quiet():
        model, loaded = kind.from_pretrained(
            source,
            local_files_only=True,
            output_loading_info=True,
            dtype=torch.float32,
            id2label=dict(enumerate(names)),
            label2id={name: i for i, name in enumerate(names)},
        )
    # a renamed module would otherwise run on random weights without complaint
    missing = set(loaded["missing_keys"]) - {"classifier.weight", "classifier.bias"}
    if missing:
        raise InputError(str(source), expected="all weights of a BERT", got=f"no {', '.join(sorted(missing))}")
    model.eval()
    first = model.config.num_hidden_layers - layers
    what = f"{source.name} on {train.name}"

    def rows(data: Dataset) -> SequenceRows:
        texts = [str(e.inputs["text"]) for e in data]
        return SequenceRows(_states(model, tokenizer, texts, first, longest, what), numbered(data, names))

    learned, held_out = rows(train), rows(dev)
    upper = Upper(model, first)
    fitted = fit(upper, learned, held_out, [cross_entropy()], settings, what=what, state=state)
    facts = training_facts(train, settings, fitted, evaluate(upper, rows(test))[1])
    with quiet():
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return facts


def _states(model: Any, tokenizer: Any, texts: list[str], first: int, longest: int, what: str) -> list[Tensor]:
    """What layer `first` reads, (n, size) per text."""
    lower = _small(model, type(model.bert)).eval()
    lower.embeddings = model.bert.embeddings
    lower.encoder.layer = nn.ModuleList(list(model.bert.encoder.layer)[:first])
    numbers = [tokenizer(text, truncation=True, max_length=longest)["input_ids"] for text in texts]
    ids = SequenceRows([torch.tensor(n)[:, None] for n in numbers], torch.zeros(len(texts)).long().numpy())
    states: list[Tensor] = [torch.empty(0)] * len(texts)
    batches = bucketed(ids.lengths, 32)
    with torch.inference_mode():
        for step, chosen in enumerate(batches, 1):
            padded, mask = ids.batch(chosen, None).inputs
            out = lower(input_ids=padded[..., 0], attention_mask=mask.long()).last_hidden_state
            for i, row in zip(chosen, out, strict=True):
                states[int(i)] = row[: len(numbers[int(i)])].clone()
            tell(Report(f"{what}: lower layers", 1, 1, step, len(batches), 0.0))
    return states


def _small(model: Any, kind: Any) -> Any:
    """A BERT of one layer, to be filled with parts of `model`."""
    return kind(type(model.config).from_dict({**model.config.to_dict(), "num_hidden_layers": 1}))
