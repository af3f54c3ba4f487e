"""Captures of weights computed elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from regard.errors import InputError
from regard.models.open.from_arrays import from_arrays, from_file
from regard.records import Message

NAMES = ["a", "good", "film"]


def weights(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(seed).random(shape)
    return drawn / drawn.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("given", "shape", "sites", "kind"),
    [
        ([weights(1, 2, 3, 3)] * 2, (1, 2, 3, 3), 2, "self"),
        (weights(2, 1, 4, 3, 3), (1, 4, 3, 3), 2, "self"),
        (weights(2, 4, 3, 3), (1, 4, 3, 3), 2, "self"),
        (weights(3, 3), (1, 1, 3, 3), 1, "self"),
        ([weights(3)], (1, 1, 1, 3), 1, "pooling"),
        ([torch.tensor(weights(2, 3, 3), requires_grad=True)], (1, 2, 3, 3), 1, "self"),
        ([torch.eye(3, dtype=torch.bfloat16)], (1, 1, 3, 3), 1, "causal"),
        ({"decoder.cross": weights(2, 4, 3)}, (1, 2, 4, 3), 1, "cross"),
    ],
)
def test_shapes(given: Any, shape: tuple[int, ...], sites: int, kind: str) -> None:
    capture = from_arrays(given, NAMES)
    assert len(capture.sites) == sites
    assert capture.sites[0].shape == shape
    assert capture.sites[0].site.kind == kind
    assert capture.units[0].names == tuple(NAMES)
    assert capture.checked == Message("check.given")
    row = capture.sites[0].rows(0, [0], heads=[0])
    np.testing.assert_allclose(row[0, 0], capture.sites[0].dense().weights[0, 0, 0])


def test_missing_mass_is_a_sink_and_empty_rows_are_padding() -> None:
    given = weights(1, 2, 3, 3) * 0.8
    given[:, :, 2] = 0
    capture = from_arrays([given], NAMES)
    sink = capture.sites[0].dense().sink
    assert sink is not None
    np.testing.assert_allclose(sink[0, 0], [0.2, 0.2, 0], atol=1e-6)
    assert capture.checked == Message.of("check.given_sink", lowest=0.8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([np.full((3, 3), np.nan)], "numbers"),
        ([weights(3, 3) - 0.5], "0 or more"),
        ([weights(3, 3) * 2], "at most 1"),
        ([weights(2, 2)], "at most 2"),
        ([], "at least one"),
        ([weights(2, 1, 3, 3)], "examples"),
        ([np.array([object()])], "objects"),
    ],
)
def test_wrong_arrays_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_arrays(given, NAMES)


def test_files(tmp_path: Path) -> None:
    arrays = {f"layer.{i}": weights(1, 2, 3, 3, seed=i).astype(np.float32) for i in range(11)}
    np.savez(tmp_path / "a.npz", units=np.array(NAMES), **arrays)
    save_file(arrays, tmp_path / "a.safetensors", {"units": json.dumps(NAMES)})
    for path in ("a.npz", "a.safetensors"):
        capture = from_file(tmp_path / path)
        assert [s.site.key for s in capture.sites] == list(arrays)  # 10 after 9, not after 1
        np.testing.assert_array_equal(capture.sites[10].dense().weights, arrays["layer.10"])
        assert capture.units[0].names == tuple(NAMES)


def test_files_never_execute(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", layer=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="plain arrays"):
        from_file(tmp_path / "bad.npz", NAMES)
    (tmp_path / "bad.safetensors").write_bytes(b"not a tensor")
    with pytest.raises(InputError, match="safetensors"):
        from_file(tmp_path / "bad.safetensors", NAMES)
    with pytest.raises(InputError, match="no such file"):
        from_file(tmp_path / "none.npz")
    np.savez(tmp_path / "nameless.npz", layer=weights(3, 3))
    with pytest.raises(InputError, match="names of units"):
        from_file(tmp_path / "nameless.npz")
