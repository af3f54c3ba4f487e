"""Tokenizers of whole words for tiny models; the one of chat models has a chat template."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}> {{ message['content'] | trim }} <end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SPECIAL = ("<pad>", "<unk>", "<end>", "<system>", "<user>", "<assistant>")


def spaced_words(words: Sequence[str], template: str, special: str, **options: Any) -> Any:
    """Return a fast tokenizer of words split at spaces. template: "<s> $A" with the special token in it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    transformers: Any = importlib.import_module("transformers")
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = [(special, words.index(special))]
    inner.post_processor = processors.TemplateProcessing(single=template, special_tokens=marks)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", **options)


def word_tokenizer(texts: Sequence[str]) -> Any:
    """Return a fast tokenizer that knows the words and punctuation marks of `texts`.

    >>> tokenizer = word_tokenizer(["Anna lives in Rome."])
    >>> tokenizer.convert_ids_to_tokens(tokenizer("Anna in Oslo.")["input_ids"])
    ['Anna', 'in', '<unk>', '.']
    """
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    transformers: Any = importlib.import_module("transformers")  # here: the import takes seconds
    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text)})
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys((*SPECIAL, *words)))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<end>",
        additional_special_tokens=[AddedToken(token, special=True) for token in SPECIAL[3:]],
        model_max_length=512,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer
