"""Detectors: every object is an example of its own, and its map is its query's row of the cross-attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from transformers import (
    ConditionalDetrConfig,
    ConditionalDetrForObjectDetection,
    DeformableDetrConfig,
    DeformableDetrForObjectDetection,
    DetrConfig,
    DetrForObjectDetection,
    DetrImageProcessorPil,
    ResNetConfig,
    YolosConfig,
    YolosForObjectDetection,
    YolosImageProcessorPil,
)

import regard
from regard.cli.root import root
from regard.errors import InputError
from regard.models.detector import DetectorModel
from regard.records import Example

LABELS = 5
PIXELS = np.random.default_rng(0).integers(0, 256, (50, 70, 3), np.uint8)
PROCESSOR = DetrImageProcessorPil(size={"shortest_edge": 60, "longest_edge": 92})
SMALL = {
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "backbone": None,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "num_queries": 6,
    "num_labels": LABELS,
    "init_std": 0.3,
}


def _module(kind: Any, config: Any, **more: Any) -> Any:
    torch.manual_seed(0)
    stages = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"], layer_type="basic"
    )
    return kind(config(backbone_config=stages, **SMALL, **more)).eval()


@pytest.fixture(scope="module")
def detr() -> Any:
    return _module(DetrForObjectDetection, DetrConfig)


def _live(module: Any, processor: Any = PROCESSOR) -> DetectorModel:
    live = regard.load(module, processor=processor)
    assert isinstance(live, DetectorModel)
    return live


def test_map_of_an_object_is_the_row_of_its_query(detr: Any) -> None:
    live = _live(detr)
    explained = regard.explain(live, PIXELS, ["attention"])
    inputs = PROCESSOR(images=PIXELS, return_tensors="pt")
    own = _module(DetrForObjectDetection, DetrConfig, attn_implementation="eager")
    own.load_state_dict(detr.state_dict())
    with torch.no_grad():
        out = own(**inputs, output_attentions=True)
    assert len(explained.targets)
    rows, columns = explained.units[0].shape
    assert rows * columns == out.cross_attentions[-1].shape[-1] == len(explained.units[0])
    for i, target in enumerate(explained.targets):
        assert isinstance(target, list)
        query, label = (int(str(number)) for number in target)
        weights = out.cross_attentions[-1][0, :, query].mean(0).numpy()
        assert np.allclose(explained.relevance["attention"][i], weights, atol=1e-5)
        probability = float(out.logits.softmax(-1)[0, query, label])
        assert explained.answers.probability[i] == pytest.approx(probability, abs=1e-5)


def test_removed_cells_cover_the_whole_picture(detr: Any) -> None:
    item = _live(detr).encode(Example("x", {"image": PIXELS}))
    assert item.units.places[:, 2:].max(0).tolist() == pytest.approx([50, 70])
    assert sorted(np.unique(item.owner)) == list(range(len(item.units)))


def test_detector_without_a_class_for_nothing_reads_each_class_alone() -> None:
    module = _module(ConditionalDetrForObjectDetection, ConditionalDetrConfig)
    live = _live(module)
    objects = live.objects(Example("x", {"image": PIXELS}))
    with torch.no_grad():
        logits = module(**PROCESSOR(images=PIXELS, return_tensors="pt")).logits
    assert logits.shape[-1] == LABELS
    assert objects[0].probability == pytest.approx(float(logits.sigmoid().max()), abs=1e-5)
    assert [one.probability for one in objects] == sorted((one.probability for one in objects), reverse=True)


def test_every_object_has_its_own_objective() -> None:
    live = _live(_module(ConditionalDetrForObjectDetection, ConditionalDetrConfig))
    examples = live.windows(Example("x", {"image": PIXELS}))
    targets = live.predict([live.encode(example) for example in examples])[1]
    assert targets == [example.inputs["object"] for example in examples]
    assert {example.parent for example in examples} == {"x"}
    with pytest.raises(InputError, match="query, class"):
        live.encode(Example("x", {"image": PIXELS, "object": "cat"}))


def test_queries_behind_the_patches_have_rows_there() -> None:
    torch.manual_seed(0)
    config = YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=[32, 48],
        patch_size=8,
        num_detection_tokens=5,
        num_labels=4,
        initializer_range=0.4,
    )
    live = _live(YolosForObjectDetection(config).eval(), YolosImageProcessorPil(size={"height": 32, "width": 48}))
    explained = regard.explain(live, PIXELS, ["attention"])
    site = regard.capture(live, PIXELS).sites[-1]
    (query, _), units = explained.targets[0], explained.units[0]  # type: ignore[misc]
    row = np.asarray(site.rows(0, [len(units) + int(str(query))])).mean((0, 1))[units.keys]
    row = np.where(units.free, row, 0.0)
    assert np.allclose(explained.relevance["attention"][0], row / row.sum(), atol=1e-6)


def test_deformable_attention_is_refused_by_name() -> None:
    torch.manual_seed(0)
    stages = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage1", "stage2"], layer_type="basic"
    )
    config = DeformableDetrConfig(
        **{**SMALL, "num_queries": 200}, backbone_config=stages, num_feature_levels=2, disable_custom_kernels=True
    )
    live = _live(DeformableDetrForObjectDetection(config).eval())
    explained = regard.explain(live, PIXELS, ["attention", "leave_one_out"])
    assert "no place on the key axis" in str(explained.skipped["attention"])
    assert np.abs(explained.relevance["leave_one_out"][0]).sum() > 0


def test_command_line_explains_and_draws_each_object(tmp_path: Path) -> None:
    module = _module(ConditionalDetrForObjectDetection, ConditionalDetrConfig)
    module.save_pretrained(tmp_path / "detector")
    PROCESSOR.save_pretrained(tmp_path / "detector")
    Image.fromarray(PIXELS).save(tmp_path / "picture.png")
    where = [str(tmp_path / "detector"), "--image", str(tmp_path / "picture.png"), "--method", "attention"]
    shown = CliRunner().invoke(root, ["explain", *where])
    assert shown.exit_code == 0, shown.output
    assert "(query " in shown.output
    assert "longer than the model reads" not in shown.output
    page = regard.explain(str(tmp_path / "detector"), PIXELS, ["attention"])._repr_html_()
    assert "object-box" in page, "the box of the object is drawn over the picture"
    drawn = CliRunner().invoke(root, ["view", *where, "--svg", str(tmp_path / "object.svg")])
    assert drawn.exit_code == 0, drawn.output
    assert "LABEL_" in (tmp_path / "object.svg").read_text("utf-8")
