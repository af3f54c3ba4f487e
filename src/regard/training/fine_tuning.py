"""Fine-tuning of a Hugging Face classifier: the whole model, or the upper layers of a BERT on cached lower states.

Frozen layers compute the same every epoch, so each text goes through them once. The result is a plain Hugging Face
model either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.models.open.checkpoints import quiet
from regard.models.open.safe_config import without_kernels
from regard.networks.classifier import Reading
from regard.protocols import Dataset
from regard.records import Example, Ints, Message
from regard.training.batches import Rows, SequenceRows, bucketed
from regard.training.inputs import text_of
from regard.training.progress import Report, tell

FIRST_DECIDES = ("albert", "bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta")
"""Model types that decide from the first token, so that its row of attention is "the attention"."""


class CachedStates(nn.Module):
    """Replacement of the embeddings of a BERT that returns cached states."""

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
        self.model.bert.embeddings = CachedStates()
        self.model.bert.encoder.layer = nn.ModuleList(list(model.bert.encoder.layer)[first:])
        self.model.bert.pooler = model.bert.pooler
        self.model.classifier = model.classifier
        self.whole = [model]  # in a list: its lower layers are no part of this network's weights

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        logits: Tensor = self.model(inputs_embeds=states, attention_mask=mask.long()).logits
        return logits

    def looked(self, states: Tensor, mask: Tensor, keys: Tensor) -> Any:
        """Run the model with all attentions and states; `keys` is the additive attention mask."""
        return self.model(inputs_embeds=states, attention_mask=keys, output_attentions=True, output_hidden_states=True)

    def vectors(self, states: Tensor, mask: Tensor) -> Tensor:
        """Inputs (batch, n, size) of the first trained layer."""
        return states

    def real(self, states: Tensor, mask: Tensor) -> Tensor:
        return mask

    def places(self) -> Mapping[str, nn.Module]:
        """See `training.second_pass`."""
        return {"inputs": self.model.bert.embeddings}


class Whole(nn.Module):
    """A Hugging Face classifier as a network: token numbers (batch, n, 1), mask -> logits."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.whole = [model]

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=self._ids(tokens, mask), attention_mask=mask.long()).logits
        return logits

    def looked(self, tokens: Tensor, mask: Tensor, keys: Tensor) -> Any:
        """Run the model with all attentions and states; `keys` is the additive attention mask."""
        return self.model(
            input_ids=self._ids(tokens, mask), attention_mask=keys, output_attentions=True, output_hidden_states=True
        )

    def vectors(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, n, size) the word vectors."""
        vectors: Tensor = self.model.get_input_embeddings()(self._ids(tokens, mask))
        return vectors

    def real(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return mask

    def places(self) -> Mapping[str, nn.Module]:
        """See `training.second_pass`."""
        return {"inputs": self.model.get_input_embeddings()}

    def _ids(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return tokens[..., 0].masked_fill(~mask, self.model.config.pad_token_id or 0)


class KeyScores(nn.Module):
    """Additive attention mask (batch, 1, 1, n) of a mask (batch, n), as a module that a perturbation can hook."""

    def forward(self, mask: Tensor) -> Tensor:
        scores = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
        return scores.masked_fill(~mask, torch.finfo(torch.float32).min)[:, None, None, :]


class WithAttention(nn.Module):
    """A Hugging Face classifier that also returns its attention, for losses on attention.

    Its attention is the row of the first token in the last layer, mean over heads, which the decision uses.
    """

    def __init__(self, classifier: Upper | Whole) -> None:
        super().__init__()
        self.given, self.keys = classifier, KeyScores()
        self.whole = classifier.whole

    def forward(self, first: Tensor, mask: Tensor) -> Tensor:
        return self.read(first, mask).logits

    def read(self, first: Tensor, mask: Tensor) -> Reading:
        outputs = self.given.looked(first, mask, self.keys(mask))
        return Reading(outputs.logits, outputs.attentions[-1].mean(1)[:, 0], outputs.hidden_states[-1], mask)

    def vectors(self, first: Tensor, mask: Tensor) -> Tensor:
        return self.given.vectors(first, mask)

    def real(self, first: Tensor, mask: Tensor) -> Tensor:
        return mask

    def places(self) -> Mapping[str, nn.Module]:
        return {**self.given.places(), "scores": self.keys}


class Prepared:
    """A model directory prepared for training: tokenizer and cached states of the frozen layers.

    layers: how many of the upper ones are trained; 0 means the whole model. looks: with its attention, for the loss.
    """

    def __init__(self, folder: Path, names: tuple[str, ...], layers: int, longest: int, *, looks: bool = False) -> None:
        import transformers

        self.folder, self.names, self.longest, self.looks = folder, names, longest, looks
        with quiet():
            kind: Any = transformers.AutoTokenizer
            self.tokenizer: Any = kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            lower = self._model()
        if looks and lower.config.model_type not in FIRST_DECIDES:
            remedy = phrase("errors.training.loss_that_does_not_speak")
            expected = phrase("errors.training.model_that_decides_by_first", first_decides=", ".join(FIRST_DECIDES))
            raise InputError(
                phrase("errors.common.attention_model", model=folder),
                expected=expected,
                got=lower.config.model_type,
                remedy=remedy,
            )
        self.layers = layers
        if layers:
            if not isinstance(lower, transformers.BertForSequenceClassification):
                remedy = phrase("errors.training.layers_trains_whole_model")
                expected = phrase("errors.training.bert_whose_lower_layers_can")
                raise InputError(f"layers={layers}", expected=expected, got=type(lower).__name__, remedy=remedy)
            if not 0 < layers <= lower.config.num_hidden_layers:
                raise InputError(
                    "layers",
                    expected=phrase(
                        "errors.training.to_num_hidden_layers", num_hidden_layers=lower.config.num_hidden_layers
                    ),
                    got=str(layers),
                )
            self.first = lower.config.num_hidden_layers - layers
            self.lower = _lower(lower, self.first)
        self._states: dict[str, list[Tensor]] = {}

    @property
    def what(self) -> Message:
        key = "learner.upper_layers" if self.layers else "learner.all_layers"
        return Message.of(key, model=self.folder.resolve().name, layers=self.layers)

    def network(self) -> nn.Module:
        """Build a network with pretrained weights and a random head."""
        model = self._model()
        classifier = Upper(model, self.first) if self.layers else Whole(model)
        return WithAttention(classifier) if self.looks else classifier

    def spans(self, example: Example) -> list[tuple[int, int]]:
        """Character span of each token; (0, 0) for special tokens."""
        offsets = self.tokenizer(
            text_of(example), truncation=True, max_length=self.longest, return_offsets_mapping=True
        )["offset_mapping"]
        return [(int(a), int(b)) for a, b in offsets]

    def rows(self, data: Dataset, labels: Ints) -> Rows:
        if data.fingerprint not in self._states:
            numbers = [
                torch.tensor(self.tokenizer(text_of(e), truncation=True, max_length=self.longest)["input_ids"])
                for e in data
            ]
            self._states[data.fingerprint] = (
                self._below(numbers, Message.of("learner.lower_layers", model=self.folder.name, data=data.name))
                if self.layers
                else [n[:, None] for n in numbers]
            )
        return SequenceRows(self._states[data.fingerprint], labels)

    def save(self, out: Path, trained: Upper | Whole | WithAttention) -> None:
        out.mkdir(parents=True, exist_ok=True)
        with quiet():
            trained.whole[0].save_pretrained(out)
            self.tokenizer.save_pretrained(out)

    def _model(self) -> Any:
        import transformers

        kind: Any = transformers.AutoModelForSequenceClassification
        with quiet(), _readable(self.folder):
            config: Any = transformers.AutoConfig.from_pretrained(
                self.folder,
                local_files_only=True,
                trust_remote_code=False,
                num_labels=len(self.names),
                id2label=dict(enumerate(self.names)),
                label2id={name: i for i, name in enumerate(self.names)},
            )
            without_kernels(config, str(self.folder))
            model, loaded = kind.from_pretrained(
                self.folder,
                config=config,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                **({"attn_implementation": "eager"} if self.looks else {}),
            )
        # a renamed module would otherwise run on random weights without complaint; a new head is what we want
        missing = [name for name in loaded["missing_keys"] if not name.startswith(("classifier", "score", "pre_class"))]
        if missing:
            expected = phrase("errors.training.all_weights", type=type(model).__name__)
            raise InputError(
                str(self.folder), expected=expected, got=phrase("errors.common.no_error", error=", ".join(missing[:3]))
            )
        return model.eval()

    def _below(self, numbers: list[Tensor], what: Message) -> list[Tensor]:
        """Compute the inputs (n, size) of the first trained layer for each text."""
        ids = SequenceRows([n[:, None] for n in numbers], torch.zeros(len(numbers)).long().numpy())
        states: list[Tensor] = [torch.empty(0)] * len(numbers)
        batches = bucketed(ids.lengths, 32)
        with torch.inference_mode():
            for step, rows in enumerate(batches, 1):
                padded, mask = ids.batch(rows, None).inputs
                out = self.lower(input_ids=padded[..., 0], attention_mask=mask.long()).last_hidden_state
                for i, row in zip(rows, out, strict=True):
                    states[int(i)] = row[: len(numbers[int(i)])].clone()
                tell(Report(what, 1, 1, step, len(batches), loss=0.0))
        return states


def _lower(model: Any, first: int) -> Any:
    lower = _small(model, type(model.bert)).eval()
    lower.embeddings = model.bert.embeddings
    lower.encoder.layer = nn.ModuleList(list(model.bert.encoder.layer)[:first])
    return lower


def _small(model: Any, kind: Any) -> Any:
    """Build a BERT of one layer for parts of `model`."""
    return kind(type(model.config).from_dict({**model.config.to_dict(), "num_hidden_layers": 1}))


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            phrase("errors.common.directory_path", path=folder),
            expected=phrase("errors.training.hugging_face_text_classifier"),
            got=reason[:160],
        ) from error
