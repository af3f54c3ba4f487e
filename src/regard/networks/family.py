"""A family on disk: one network trained with several seeds, one directory each, and `family.json` above them.

runs/reviews/family.json     the members and their metrics
runs/reviews/seed-0/         a checkpoint like that of a single training
runs/reviews/seed-1/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from regard.errors import InputError, phrase
from regard.files import read_json
from regard.records import Json

FORMAT: Final = "regard-family"
VERSION: Final = 1
FILE: Final = "family.json"


@dataclass(frozen=True, slots=True)
class Family:
    """Networks that differ only in their seed; `about` lists the trained members."""

    directory: Path
    about: Mapping[str, Any]

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(str(m["name"]) for m in self.about["members"])

    @property
    def best(self) -> str:
        """The member with the best dev metric; the first one on ties."""
        return str(self.about["best"])

    @property
    def size(self) -> int:
        """Number of members of the complete family."""
        return len(self.about["seeds"])

    def membership(self, member: str) -> dict[str, Json]:
        """Describe a member and its siblings for the manifest of a run."""
        number = self.members.index(member)
        return {
            "directory": str(self.directory),
            "member": member,
            "number": number + 1,
            "of": self.size,
            "seed": self.about["members"][number]["seed"],
            "siblings": [m for m in self.members if m != member],
        }


def is_family(directory: Path) -> bool:
    return (directory / FILE).is_file()


def read_family(directory: Path) -> Family:
    """Read the family in a directory; raise an error if it has no trained member."""
    path = directory / FILE
    try:
        about = read_json(path, str(path))
    except InputError as error:
        raise InputError(str(path), expected=phrase("errors.networks.description_family"), got=error.got) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") != VERSION:
        raise InputError(
            str(path),
            expected=phrase("errors.common.format_version", format=FORMAT, version=VERSION),
            got=phrase("errors.common.another_file"),
        )
    if not about.get("members"):
        remedy = phrase("errors.networks.finish_regard_train")
        raise InputError(
            phrase("errors.networks.family_directory", directory=directory),
            expected=phrase("errors.networks.at_least_one_trained_member"),
            got=phrase("errors.networks.none_yet"),
            remedy=remedy,
        )
    _check_members(about, str(path))
    family = Family(directory, about)
    for name in (*family.members, family.best):
        if Path(name).name != name or not (directory / name).is_dir():
            raise InputError(
                str(path), expected=phrase("errors.networks.members_that_directories_inside"), got=name[:80]
            )
    return family


def _check_members(about: Mapping[str, Any], subject: str) -> None:
    """Check that members are names of directories beside the file and that the best one is among them."""
    members, seeds = about["members"], about.get("seeds")
    shaped = isinstance(members, list) and all(isinstance(m, dict) and "seed" in m for m in members)
    if not shaped or not isinstance(seeds, list):
        raise InputError(
            subject, expected=phrase("errors.networks.members_and_seeds"), got=phrase("errors.common.something_else")
        )
    names = [str(member.get("name")) for member in members]
    strange = next((name for name in names if Path(name).name != name or name == ".."), None)
    if strange is not None or about.get("best") not in names:
        offender = repr(about.get("best") if strange is None else strange)[:80]
        expected = phrase("errors.networks.members_and_best_inside")
        raise InputError(subject, expected=expected, got=offender)


def membership(directory: Path) -> dict[str, Json] | None:
    """Describe the best member of a family directory, or the member in `directory`; None for neither."""
    if is_family(directory):
        family = read_family(directory)
        return family.membership(family.best)
    if is_family(directory.parent):
        family = read_family(directory.parent)
        return family.membership(directory.name) if directory.name in family.members else None
    return None
