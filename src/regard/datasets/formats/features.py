"""Names of coded labels in the metadata of Hugging Face `datasets`."""

from __future__ import annotations

from typing import Any

from regard.files import parse_json


def label_names(features: Any) -> dict[str, tuple[str, ...]]:
    """Names of the codes, by column.

    >>> label_names({"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}, "text": {"_type": "Value"}})
    {'label': ('neg', 'pos')}
    """
    by_column = {}
    for column, feature in features.items() if isinstance(features, dict) else ():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else None
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            names = inner.get("names")
            by_column[str(column)] = tuple(map(str, names)) if isinstance(names, list) else ()
    return by_column


def label_names_in(schema: Any) -> dict[str, tuple[str, ...]]:
    """Names of the codes by column, from the metadata of an arrow or Parquet schema."""
    try:
        facts = parse_json((schema.metadata or {}).get(b"huggingface", b"{}"))
    except ValueError:
        return {}
    info = facts.get("info") if isinstance(facts, dict) else None
    return label_names(info.get("features")) if isinstance(info, dict) else {}
