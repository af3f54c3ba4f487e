"""Attention and rollout: which sites are read, how they are pooled, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from regard.desk.padding import DenseSite
from regard.errors import InputError, Unsupported
from regard.explainers.attention import attention
from regard.explainers.rollout import rollout
from regard.measures.agreement import kendall
from regard.protocols import Encoded, Target
from regard.records import Attention, Example, Site, SiteKind
from regard.testing.toy import TEXTS, ToyCase, ToyModel
from regard.testing.toy_text import ToyCapture, ToyText

TEXT = "a truly wonderful film"
N = 5  # [CLS] and four words


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


def mean_map(site: DenseSite) -> np.ndarray:
    return site.dense().weights[0].astype(np.float64).mean(0)


def made(kind: SiteKind, layer: int, queries: int, keys: int, *, heads: int = 2, scale: float = 1.0) -> DenseSite:
    weights = scale * np.random.default_rng(layer + 10 * keys).dirichlet(np.ones(keys), size=(1, heads, queries))
    return DenseSite(Attention(Site(f"{kind}.{layer}", 0, kind, layer, heads), weights.astype(np.float32)))


@dataclass(frozen=True, eq=False)
class Given(ToyModel):
    """A toy model with whatever attention a test wants, read in the rows a test wants."""

    shown: tuple[DenseSite, ...] = ()
    rows: tuple[int, ...] = (0,)

    def capture(self, batch: Sequence[Encoded], targets: Sequence[Target], **_: object) -> ToyCapture:
        return ToyCapture(self.shown, [e.units for e in batch], self.forward(batch, targets))

    def reading(self, encoded: Encoded, target: Target, site: Site) -> tuple[int, ...]:
        return (0,) if site.kind == "pooling" else self.rows


def given(*sites: DenseSite, read: tuple[int, ...] = (0,)) -> ToyCase:
    return ToyCase((TEXT,), model=Given(shown=sites, rows=read))


def without_special(row: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], row[1:] / row[1:].sum()])


def test_pooling_attention_is_the_softmax_without_its_special_share() -> None:
    case = ToyCase()
    got = attention(case)
    for i in range(len(TEXTS)):
        w = np.abs(case.word_weights(i))
        row = (softmax(w) + softmax(2 * w)) / 2
        assert got.extras["special_mass"][i] == pytest.approx(row[0], abs=1e-6)
        if len(row) > 1:
            np.testing.assert_allclose(got[i], without_special(row), atol=1e-6)
            assert got[i].sum() == pytest.approx(1)
    assert got.extras["sites"].tolist() == [1] * len(TEXTS)
    assert got.extras["heads"].tolist() == [2] * len(TEXTS)


def test_planted_attention_ranks_like_the_truth() -> None:
    case = ToyCase()
    got = attention(case)
    for i in (0, 2, 3):
        free = case.units[i].free
        assert kendall(got[i][free], np.abs(case.exact(i)[free])) == pytest.approx(1)


@pytest.mark.parametrize("heads", ["mean", "max", 0, 1])
def test_heads(heads: str | int) -> None:
    site = made("pooling", 0, 1, N)
    w = site.dense().weights[0, :, 0].astype(np.float64)
    row = {"mean": w.mean(0), "max": w.max(0), 0: w[0], 1: w[1]}[heads]
    np.testing.assert_allclose(attention(given(site), heads=heads)[0], without_special(row))


@pytest.mark.parametrize(("layers", "used"), [("last", [1]), (0, [0]), ("all", [0, 1])])
def test_layers(layers: str | int, used: list[int]) -> None:
    sites = [made("self", 0, N, N), made("self", 1, N, N)]
    row = np.mean([sites[k].dense().weights[0, :, 0].astype(np.float64).mean(0) for k in used], axis=0)
    got = attention(given(*sites), layers=layers)
    np.testing.assert_allclose(got[0], without_special(row))
    assert got.extras["sites"][0] == len(used)


def test_all_the_rows_that_are_read_count() -> None:
    site = made("self", 0, N, N)
    got = attention(given(site, read=(1, 3)))
    np.testing.assert_allclose(got[0], without_special(mean_map(site)[[1, 3]].mean(0)))
    assert got.extras["rows"][0] == 2


def test_without_renormalising_mass_is_conserved_even_with_a_sink() -> None:
    site = made("self", 0, N, N, scale=0.7)
    got = attention(given(site), renormalise=False)
    assert got[0].sum() + got.extras["special_mass"][0] == pytest.approx(1)
    assert got.extras["special_mass"][0] >= 0.3 - 1e-6
    assert got[0][0] == 0


@pytest.mark.parametrize("wrong", [{"layers": 7}, {"layers": "first"}, {"heads": 2}, {"heads": "median"}])
def test_choices_that_are_not_there(wrong: dict[str, str | int]) -> None:
    with pytest.raises(InputError):
        attention(given(made("self", 0, N, N)), **wrong)  # type: ignore[arg-type]


NEAREST = {
    "pooling before self": ([made("self", 0, N, N), made("pooling", 1, 1, N)], 1),
    "cross before the encoder": ([made("self", 0, N, N), made("causal", 1, 7, 7), made("cross", 2, 7, N)], 2),
    "self alone": ([made("self", 0, N, N)], 0),
    "the pooling does not fit": ([made("self", 0, N, N), made("pooling", 1, 1, 3)], 0),
}


@pytest.mark.parametrize("name", NEAREST)
def test_the_site_nearest_to_the_answer_speaks(name: str) -> None:
    sites, chosen = NEAREST[name]
    got = attention(given(*sites))
    np.testing.assert_allclose(got[0], without_special(mean_map(sites[chosen])[0]))


class NoKeys(Given):
    def encode(self, example: Example) -> ToyText:
        item = super().encode(example)
        return replace(item, units=replace(item.units, keys=np.full(item.length, -1)))


REFUSED = {
    "no attention": (given(), "no attention site"),
    "a window": (given(made("windowed", 0, N, 2)), "a window"),
    "too few keys": (given(made("self", 0, N, 3)), "3 keys for 5 positions"),
    "nothing is read": (given(made("self", 0, N, N), read=()), "reads none"),
    "a row that is not there": (given(made("self", 0, N, N), read=(9,)), "row 9 of 5"),
    "units without a place": (
        ToyCase((TEXT,), model=NoKeys(shown=(made("self", 0, N, N),))),
        "no place on the key axis",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("method", [attention, rollout])
def test_what_does_not_fit_is_refused_with_the_reason(name: str, method: object) -> None:
    case, reason = REFUSED[name]
    with pytest.raises(Unsupported, match=reason):
        method(case)  # type: ignore[operator]


def half(site: DenseSite) -> np.ndarray:
    mean = site.dense().weights[0].astype(np.float64).mean(0)
    mixed = 0.5 * mean + 0.5 * np.eye(len(mean))
    return mixed / mixed.sum(-1, keepdims=True)


def test_rollout_is_the_product_of_the_layers() -> None:
    sites = [made("self", 0, N, N), made("self", 1, N, N)]
    product = half(sites[1]) @ half(sites[0])
    np.testing.assert_allclose(rollout(given(*sites, read=(2,)))[0], without_special(product[2]))
    np.testing.assert_allclose(rollout(given(*sites, read=(1, 4)))[0], without_special(product[[1, 4]].mean(0)))


def test_rollout_reads_through_a_pooling_or_the_last_cross_attention() -> None:
    below, pool = made("self", 0, N, N), made("pooling", 1, 1, N)
    want = pool.dense().weights[0, :, 0].astype(np.float64).mean(0) @ half(below)
    np.testing.assert_allclose(rollout(given(below, pool))[0], without_special(want), atol=1e-6)
    decoder, cross = made("causal", 1, N, N), made("cross", 2, 7, N)
    want = cross.dense().weights[0, :, 3].astype(np.float64).mean(0) @ half(below)
    got = rollout(given(below, decoder, cross, read=(3,)))
    np.testing.assert_allclose(got[0], without_special(want), atol=1e-6)
    assert got.extras["sites"][0] == 1, "the decoder's self-attention is about the output, not about the units"


def test_rollout_with_nothing_but_residual_stays_where_it_reads() -> None:
    sites = [made("self", 0, N, N), made("self", 1, N, N)]
    assert rollout(given(*sites, read=(2,)), residual=1)[0].tolist() == [0, 0, 1, 0, 0]
    at_cls = rollout(given(*sites), residual=1)
    assert at_cls[0].tolist() == [0] * N
    assert at_cls.extras["special_mass"][0] == 1


ODD = {
    "no self-attention": ([made("pooling", 0, 1, N)], "no self-attention"),
    "not square": ([made("self", 0, 3, N)], "3 queries for 5 keys"),
    "changing length": ([made("self", 0, N, N), made("self", 1, 9, 9)], "9 keys where the first layer has 5"),
    "latents": ([made("cross", 0, 3, N), made("self", 1, 3, 3)], "no self-attention"),
}


@pytest.mark.parametrize("name", ODD)
def test_rollout_refuses(name: str) -> None:
    sites, reason = ODD[name]
    with pytest.raises(Unsupported, match=reason):
        rollout(given(*sites))
