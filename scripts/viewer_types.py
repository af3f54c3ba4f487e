"""Generate the viewer's TypeScript: types from the records of a pack, English words from the catalogue.

`--check` only compares (exit 1 on a difference).
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from pathlib import Path

from regard.present.pack import records
from regard.present.pack.viewer_block import viewer_words

SOURCES = Path(__file__).resolve().parents[1] / "viewer" / "src"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def type_name(hint: object) -> str:
    """Return a Python annotation as TypeScript."""
    if isinstance(hint, type) and hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint.__name__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(a) for a in arguments)
    if origin is list:
        inner = type_name(arguments[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    raise TypeError(f"no TypeScript for {hint!r}")


def generated_records() -> str:
    """Return the text of records.generated.ts."""
    lines = ["// Generated from src/regard/present/pack/records.py by scripts/viewer_types.py. Do not edit.", ""]
    for record in vars(records).values():
        if not (isinstance(record, type) and dataclasses.is_dataclass(record)) or record is records.Pack:
            continue
        hints = typing.get_type_hints(record)
        doc = " ".join((record.__doc__ or "").split())
        lines.append(f"/** {doc} */")
        lines.append(f"export interface {record.__name__} {{")
        lines += [f"  {f.name}: {type_name(hints[f.name])};" for f in dataclasses.fields(record)]
        lines += ["}", ""]
    return "\n".join(lines)


def generated_words() -> str:
    """Return the text of words.generated.ts."""
    lines = ["// Generated from the [viewer] table of en.toml by scripts/viewer_types.py. Do not edit.", ""]
    lines += ["// biome-ignore format: one line per word", "export const EN = {"]
    lines += [f"  {key}: {json.dumps(word, ensure_ascii=False)}," for key, word in viewer_words("en").items()]
    return "\n".join([*lines, "};", ""])


def main() -> int:
    stale = 0
    for name, text in {"records": generated_records(), "words": generated_words()}.items():
        path = SOURCES / f"{name}.generated.ts"
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            print(f"{path.name}: STALE, run scripts/viewer_types.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
