"""Placement and precision of the weights of a Hugging Face model: dtype, device map, quantization."""

from __future__ import annotations

import atexit
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from regard.errors import EnvironmentProblem, InputError, Text, UnknownName, phrase

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
QUANTIZED = {"4bit": 4, "8bit": 8}
"""Bits of a quantized weight."""
DeviceMap = str | Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of the weights. dtype: None keeps that of the checkpoint.

    device_map: "auto" or another strategy of accelerate, or module -> device ("cpu", 0, "disk"), also as JSON text.
    quantize: "4bit" or "8bit".
    """

    dtype: torch.dtype | None = None
    device_map: DeviceMap | None = None
    quantize: str | None = None


def pick_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """Resolve the name of a precision.

    >>> pick_dtype("bf16"), pick_dtype(None)
    (torch.bfloat16, None)
    """
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    return DTYPES[dtype]


def placement(
    dtype: str | torch.dtype | None = None, device_map: DeviceMap | None = None, quantize: str | None = None
) -> Placement:
    """Check the options of a user; refuse a backend that is not installed."""
    if quantize is not None and quantize not in QUANTIZED:
        raise UnknownName("quantize", quantize, QUANTIZED)
    if device_map is not None:
        _need("accelerate", "--device-map", "pip install 'regard[models]'")
        device_map = _parsed(device_map)
    if quantize is not None:
        _need("bitsandbytes", f"--quantize {quantize}", "pip install bitsandbytes")
        _need("accelerate", f"--quantize {quantize}", "pip install 'regard[models]'")
    return Placement(pick_dtype(dtype), device_map, quantize)


def _need(package: str, subject: str, remedy: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise EnvironmentProblem(
            subject,
            expected=phrase("errors.models.package_package", package=package),
            got=phrase("errors.common.not_installed"),
            remedy=remedy,
        )


def _parsed(device_map: DeviceMap) -> DeviceMap:
    if not isinstance(device_map, str):
        return dict(device_map)
    if device_map in MAPS:
        return device_map
    try:
        mapping = json.loads(device_map)
    except ValueError:
        mapping = None
    if not isinstance(mapping, dict) or not all(isinstance(value, str | int) for value in mapping.values()):
        expected = phrase("errors.models.or_json_object_modules", maps=", ".join(MAPS))
        raise InputError("--device-map", expected=expected, got=device_map[:80])
    return mapping


def loading_arguments(where: Placement) -> dict[str, Any]:
    """Return the arguments of `from_pretrained` that place the weights while they load."""
    arguments: dict[str, Any] = {}
    if where.dtype is not None:
        arguments["dtype"] = where.dtype
    if where.device_map is not None:
        arguments["device_map"] = where.device_map
        if not isinstance(where.device_map, str) and "disk" in where.device_map.values():
            folder = tempfile.mkdtemp(prefix="regard-offload-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            arguments["offload_folder"] = folder
    if where.quantize is not None:
        import transformers

        make: Any = transformers.BitsAndBytesConfig
        arguments["quantization_config"] = make(**{f"load_in_{where.quantize}": True})
    return arguments


def unpack_on_cpu(module: nn.Module) -> tuple[nn.Module, list[Text]]:
    """Unpack 4-bit weights on a CPU to the dtype of the model; return (module, notes).

    Reading the state dict of such a model after its first pass changes its answers (bitsandbytes 0.50), and it has no
    gradients. Unpacked, it gives the answers of the same weights, at the memory of full ones.
    """
    packed = getattr(module, "is_loaded_in_4bit", False)
    if not packed or any(parameter.device.type != "cpu" for parameter in module.parameters()):
        return module, []
    unpacked: nn.Module = cast("Any", module).dequantize()
    return unpacked, [phrase("errors.models.weights_of_4_bits_unpacked")]


def is_placed(module: nn.Module) -> bool:
    """Return whether a module is already placed: spread over devices, offloaded or quantized."""
    devices = getattr(module, "hf_device_map", None) or {}
    return len(devices) > 1 or bool(getattr(module, "is_quantized", False)) or has_offloaded(module)


def has_offloaded(module: nn.Module) -> bool:
    """Return whether some weights are loaded only while their module runs."""
    return any(parameter.device.type == "meta" for parameter in module.parameters())


def input_device(module: nn.Module, default: torch.device) -> torch.device:
    """The device that takes the inputs of a placed module."""
    hook = getattr(module, "_hf_hook", None)
    device = getattr(hook, "execution_device", None)
    if device is not None:
        return torch.device(device)
    return next((p.device for p in module.parameters() if p.device.type != "meta"), default)


def weight(module: nn.Module, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Read a parameter or buffer by its name in the state dict, also if it is offloaded."""
    if tensor.device.type != "meta":
        return tensor
    path, _, own = name.rpartition(".")
    hook = getattr(module.get_submodule(path), "_hf_hook", None)
    for part in (hook, *getattr(hook, "hooks", ())):
        weights = getattr(part, "weights_map", None)
        if weights is not None and own in weights:
            stored: torch.Tensor = weights[own]
            return stored
    return tensor
