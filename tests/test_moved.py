"""Old documented module names import their new home, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

from regard.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_old_name_is_the_new_module(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=MOVED[old]):
        module = importlib.import_module(old)
    assert module is importlib.import_module(MOVED[old])
    assert module.__spec__ is not None
    assert module.__spec__.name == MOVED[old]


def test_old_name_in_the_pack_package_warns() -> None:
    from regard.present.pack.pack import pack_of_capture

    with pytest.warns(DeprecationWarning, match="pack_of_capture"):
        from regard.present.pack import pack_of_capture as old
    assert old is pack_of_capture
