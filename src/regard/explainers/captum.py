"""Adapter for attribution methods of Captum."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from regard.desk.questions import input_function
from regard.errors import EnvironmentProblem, InputError, UnknownName, Unsupported, phrase
from regard.protocols import Case, InputFunction
from regard.records import Floats, Json, Relevance
from regard.registry import explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Kokhlikyan et al. 2020",
    formula="that of the attribution it calls, summed over the features of a unit",
    cost="that of the wrapped method, as counted",
    passes_per="setting",
    misleads="as the wrapped method does; perturbations act on embeddings, not on tokens",
    adapter=True,
)
def captum(
    case: Case,
    *,
    attribution: str = "InputXGradient",
    params: dict[str, Json] | None = None,
    baseline: str | None = None,
) -> Relevance:
    """Run any Captum input attribution, selected by class name, and sum its values per unit.

    Returns one signed value per unit, special units 0. attribution: "IntegratedGradients", "DeepLift",
    "FeatureAblation", "ShapleyValueSampling", ...; "NoiseTunnel(Saliency)" wraps one in another. params: further
    arguments of its `attribute`, as JSON. baseline: one of the model's baselines, where the method takes `baselines`;
    where it takes a `feature_mask`, every unit is one feature. Random methods are seeded per example.
    Conservation: that of the method it calls.

    >>> from regard.testing.toy import ToyCase
    >>> captum(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    outer, inner = _classes(attribution)
    rows = []
    for i, units in enumerate(case.units):
        function = input_function(case, i)
        with _seeded(case.rng(None, case.ids[i], "captum", attribution)):
            attributions = _attributed(outer, inner, function, dict(params or {}), baseline or case.baselines[0])
        owner = np.broadcast_to(function.owner.cpu().numpy(), attributions.shape)
        inside = owner >= 0
        if owner.shape == attributions.shape and _per_feature(outer, inner):
            # a feature's value stands on each of its entries: their mean, not their sum
            counts = np.maximum(np.bincount(owner[inside], minlength=len(units)), 1)
            sums = np.bincount(owner[inside], attributions[inside], minlength=len(units)) / counts
        else:
            sums = np.bincount(owner[inside], attributions[inside], minlength=len(units)).astype(np.float64)
        rows.append(np.where(units.free, sums, 0.0))
    return Relevance.of("captum", case.ids, rows, signed=True)


def _classes(attribution: str) -> tuple[Any, Any]:
    """Return the Captum class and the class it wraps, if any."""
    try:
        from captum import attr
    except ImportError as problem:
        raise EnvironmentProblem(
            phrase("errors.explainers.explainer_captum"),
            expected=phrase("errors.explainers.package_captum"),
            got=str(problem),
            remedy="pip install 'regard[captum]'",
        ) from problem
    methods = {
        name: kind
        for name, kind in vars(attr).items()
        if inspect.isclass(kind) and callable(getattr(kind, "attribute", None)) and not inspect.isabstract(kind)
    }
    fitting = sorted(name for name in methods if not name.startswith(("Layer", "Neuron", "LLM", "Remote", "Internal")))
    parsed = re.fullmatch(r"(\w+)(?:\((\w+)\))?", attribution)
    names = [name for name in (parsed.groups() if parsed else (attribution, None)) if name is not None]
    for name in names:
        if name not in fitting:
            if name in methods:
                raise Unsupported(
                    phrase("errors.explainers.captum_name", name=name),
                    expected=phrase("errors.explainers.attribution_inputs"),
                    got=phrase("errors.explainers.inner_layers"),
                )
            raise UnknownName(phrase("errors.explainers.attribution_captum"), name, fitting)
    if (len(names) == 2) != (names[0] == "NoiseTunnel"):
        raise InputError(
            phrase("errors.explainers.attribution_attribution", attribution=repr(attribution)),
            expected=phrase("errors.explainers.name_or_noisetunnel_name"),
            got=attribution,
        )
    return methods[names[0]], methods[names[1]] if len(names) == 2 else None


def _per_feature(outer: Any, inner: Any) -> bool:
    return "feature_mask" in inspect.signature((inner or outer).attribute).parameters


def _attributed(outer: Any, inner: Any, function: InputFunction, params: dict[str, Json], baseline: str) -> Floats:
    import torch

    class Objective(torch.nn.Module):
        """Module that returns the objective around the native model, so that layer hooks find its layers."""

        def __init__(self) -> None:
            super().__init__()
            self.native = function.module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value: torch.Tensor = function(x)
            return value

    method = outer(inner(Objective())) if inner is not None else outer(Objective())
    takes = set(inspect.signature((inner or outer).attribute).parameters)
    takes_outer = set(inspect.signature(outer.attribute).parameters)
    unknown = sorted(set(params) - takes - takes_outer)
    if unknown:
        raise UnknownName(
            phrase("errors.explainers.argument_outer", outer=outer.__name__), unknown[0], takes | takes_outer
        )
    x = function.x.clone().detach().requires_grad_()
    arguments: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in params.items()}
    if "baselines" in takes:
        arguments.setdefault("baselines", function.baseline(baseline))
    if "feature_mask" in takes:
        # numbered without gaps, as Captum wants; what no unit owns is a feature that its baseline does not change
        arguments.setdefault("feature_mask", torch.unique(function.owner, return_inverse=True)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hooks that it sets and takes away again
        attributions = method.attribute(x, **arguments)
    tensor = attributions[0] if isinstance(attributions, tuple) else attributions
    return np.asarray(tensor.detach().double().cpu().numpy(), np.float64)


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global generators of torch and numpy, from which Captum draws, and restore them afterwards."""
    import torch

    state, seed = np.random.get_state(), int(rng.integers(2**32))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(state)
