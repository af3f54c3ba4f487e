"""ONNX graphs for tests: a tiny BERT exported by torch, and small graphs written node by node."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import adapter_zoo as zoo
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

NAMES = ("input_ids", "attention_mask", "token_type_ids")
WORDS = ("good", "bad", "film", "the", "was", "very", "fun", "dull")


def exported_bert(folder: Path, *, fixed: bool = False) -> Path:
    """A directory with model.onnx, its tokenizer and its config: a classifier of three classes."""
    folder.mkdir(parents=True, exist_ok=True)
    model, tokenizer = zoo.bert("ForSequenceClassification", num_labels=3), zoo.bert_tokenizer()
    model.set_attn_implementation("sdpa")
    ids = torch.randint(5, 20, (1 if fixed else 2, 12))
    axes = {} if fixed else {**{n: {0: "batch", 1: "sequence"} for n in NAMES}, "logits": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            str(folder / "model.onnx"),
            input_names=list(NAMES),
            output_names=["logits"],
            dynamic_axes=axes,
            dynamo=False,
            opset_version=17,
        )
    tokenizer.save_pretrained(folder)
    model.config.architectures = ["BertForSequenceClassification"]
    model.config.save_pretrained(folder)
    return folder / "model.onnx"


def written_graph(
    path: Path, nodes: Sequence[Any], weights: dict[str, np.ndarray[Any, Any]], inputs: Sequence[Any], output: Any
) -> Path:
    graph = helper.make_graph(
        list(nodes),
        "graph",
        list(inputs),
        [output],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


def keras_like(path: Path, *, length: int = 6) -> Path:
    """Embedding, additive attention over a fixed number of int32 tokens, a dense layer: as Keras exports are named."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(WORDS) + 1, 4)).astype(np.float32)
    table[1], table[2] = (4, 0, 0, 0), (-4, 0, 0, 0)
    weights = {
        "embedding/table": table,
        "attention/kernel": np.array([[1.0], [0], [0], [0]], np.float32) ** 2,
        "dense/kernel": np.array([[-1.0, 1], [0, 0], [0, 0], [0, 0]], np.float32),
        "axes": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["embedding/table", "tokens"], ["embedded"], name="model/embedding/Gather"),
        helper.make_node("Abs", ["embedded"], ["size"], name="model/attention/Abs"),
        helper.make_node("MatMul", ["size", "attention/kernel"], ["scores"], name="model/attention/MatMul"),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=1, name="model/attention/Softmax"),
        helper.make_node("Mul", ["weights", "embedded"], ["weighed"], name="model/attention/mul"),
        helper.make_node("ReduceSum", ["weighed", "axes"], ["context"], keepdims=0, name="model/attention/Sum"),
        helper.make_node("MatMul", ["context", "dense/kernel"], ["Identity"], name="model/dense/MatMul"),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT32, ["batch", length])
    output = helper.make_tensor_value_info("Identity", TensorProto.FLOAT, ["batch", 2])
    return written_graph(path, nodes, weights, [tokens], output)


def without_attention(path: Path) -> Path:
    """A bag of words with a Softmax at its output."""
    rng = np.random.default_rng(0)
    weights = {"table": rng.normal(size=(9, 2)).astype(np.float32)}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"], name="/table/Gather"),
        helper.make_node("ReduceMean", ["embedded"], ["logits"], axes=[1], keepdims=0, name="/mean/ReduceMean"),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=-1, name="/head/Softmax"),
    ]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])
    output = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 2])
    return written_graph(path, nodes, weights, [ids], output)
