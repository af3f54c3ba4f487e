"""Names for heads: `L0H10` where a model has one stack of attention, `self.L0H10` where it has several.

A name must survive CSV readers, in which `0.1` and `0.10` would be the same number. Such former names are still
accepted as user input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.errors import InputError, UnknownName, phrase
from regard.records import Site


@dataclass(frozen=True, slots=True)
class Head:
    """Head of one site; `name` is its usual notation."""

    name: str
    site: Site
    number: int


def named_heads(sites: Sequence[Site]) -> list[Head]:
    """Every head of these sites, named.

    >>> made = [Site("encoder.0.attn", 0, "self", 0, 2), Site("decoder.0.attn", 0, "causal", 0, 2)]
    >>> [head.name for head in named_heads(made)], [head.name for head in named_heads(made[:1])]
    (['self.L0H0', 'self.L0H1', 'causal.L0H0', 'causal.L0H1'], ['L0H0', 'L0H1'])
    """
    stacks: dict[str, list[Site]] = {}
    for site in sites:
        stacks.setdefault(re.sub(r"\d+", "*", site.name), []).append(site)
    kinds = [group[0].kind for group in stacks.values()]
    heads = []
    for number, (group, kind) in enumerate(zip(stacks.values(), kinds, strict=True)):
        lead = "" if len(stacks) == 1 else f"{kind}." if kinds.count(kind) == 1 else f"stack{number}."
        heads += [Head(f"{lead}L{site.layer}H{h}", site, h) for site in group for h in range(site.heads)]
    if len({head.name for head in heads}) < len(heads):  # several calls of one layer: say the whole key
        heads = [Head(f"{head.site.key}.H{head.number}", head.site, head.number) for head in heads]
    return heads


def former_name(name: str) -> str:
    """Return the former name of a head.

    >>> former_name("L0H10"), former_name("cross.L3H7"), former_name("decoder.0.attn.H1")
    ('0.10', 'cross.3.7', 'decoder.0.attn.1')
    """
    return re.sub(r"\.H(\d+)$", r".\1", re.sub(r"L(\d+)H(\d+)$", r"\1.\2", name))


def chosen_heads(text: str, heads: Sequence[Head]) -> list[Head]:
    """Parse a list of heads like `L0H1,L3H7` (or `0.1,3.7`); refuse names that no head has.

    >>> made = named_heads([Site("layer.0", 0, "self", 0, 2)])
    >>> [head.name for head in chosen_heads("L0H1,0.0", made)]
    ['L0H1', 'L0H0']
    """
    by_name = {head.name: head for head in heads}
    former = {former_name(head.name): head.name for head in heads}
    requested = [former.get(part.strip(), part.strip()) for part in text.split(",") if part.strip()]
    if not requested:
        raise InputError("heads", expected=phrase("errors.surveys.names_like_lh_lh"), got=phrase("errors.common.none"))
    for name in requested:
        if name not in by_name:
            raise UnknownName("head", name, by_name)
    return [by_name[name] for name in dict.fromkeys(requested)]


def by_site(heads: Sequence[Head]) -> Mapping[str, tuple[int, ...]]:
    """Site key -> indices of these heads in it."""
    numbers_of: dict[str, list[int]] = {}
    for head in heads:
        numbers_of.setdefault(head.site.key, []).append(head.number)
    return {key: tuple(numbers) for key, numbers in numbers_of.items()}
