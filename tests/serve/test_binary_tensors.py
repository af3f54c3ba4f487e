"""Tensors as bytes give the numbers of JSON, and damaged ones are one clear error."""

from __future__ import annotations

import json
import struct
from typing import Any

import httpx
import numpy as np
import pytest
from test_service import TEXTS, V2, asked, post

from regard.errors import InputError
from regard.serve.binary_tensors import NUMBERS, unpacked_body
from regard.serve.service import Service

SIZE = "Inference-Header-Content-Length"


def packed(tensor: dict[str, Any], content: bytes, **fields: Any) -> tuple[bytes, dict[str, str]]:
    inputs = [{**tensor, "parameters": {"binary_data_size": len(content)}}]
    head = json.dumps({"inputs": inputs, **fields}).encode()
    return head + content, {SIZE: str(len(head)), "content-type": "application/octet-stream"}


def texts(rows: list[str]) -> bytes:
    return b"".join(struct.pack("<I", len(row.encode())) + row.encode() for row in rows)


def test_binary_tensors_give_the_numbers_of_json(service: Service) -> None:
    rows = [*TEXTS[:2], "très bon film"]
    tensor = {"name": "text", "shape": [3], "datatype": "BYTES"}
    content, headers = packed(tensor, texts(rows), parameters={"binary_data_output": True})

    async def both(client: httpx.AsyncClient) -> tuple[httpx.Response, dict[str, Any], int]:
        refused = await client.post("/v1/models/planted:predict", content=content, headers=headers)
        plain = await client.post(f"{V2}/infer", json={"inputs": [{**tensor, "data": rows}], "model_name": "planted"})
        return await client.post(f"{V2}/infer", content=content, headers=headers), plain.json(), refused.status_code

    answer, plain, refused = asked(service, both)
    assert (answer.status_code, refused) == (200, 415)
    size = int(answer.headers[SIZE])
    head, rest = json.loads(answer.content[:size]), answer.content[size:]
    by_name = {output["name"]: output for output in plain["outputs"]}
    for output in head["outputs"]:
        part, rest = (
            rest[: output["parameters"]["binary_data_size"]],
            rest[output["parameters"]["binary_data_size"] :],
        )
        expected = by_name[output["name"]]["data"]
        if output["datatype"] == "BYTES":
            assert part == texts(expected)
        else:
            np.testing.assert_allclose(np.frombuffer(part, "<f8"), expected, atol=1e-6)
    assert rest == b""


def test_only_named_outputs_are_bytes(service: Service) -> None:
    outputs = [{"name": "label"}, {"name": "probability", "parameters": {"binary_data": True}}]
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": TEXTS[:1]}
    answer = post(service, f"{V2}/infer", {"inputs": [tensor], "outputs": outputs})
    head = json.loads(answer.content[: int(answer.headers[SIZE])])
    assert [("data" in output) for output in head["outputs"]] == [True, False]


@pytest.mark.parametrize("datatype", sorted(NUMBERS))
def test_every_number_type_is_read(datatype: str) -> None:
    array = np.array([0, 1, 1], NUMBERS[datatype])
    content, headers = packed({"name": "row", "shape": [3], "datatype": datatype}, array.tobytes())
    assert unpacked_body(content, headers[SIZE])["inputs"][0]["data"] == [0, 1, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x01", "fewer bytes"),
        (b"\xff\xff\xff\xff", "fewer bytes"),
        (struct.pack("<I", 1) + b"\xff", "UTF-8"),
    ],
)
def test_damaged_texts_are_refused(content: bytes, words: str) -> None:
    body, headers = packed({"name": "text", "shape": [1], "datatype": "BYTES"}, content)
    with pytest.raises(InputError, match=words):
        unpacked_body(body, headers[SIZE])


def test_wrong_sizes_are_refused() -> None:
    body, headers = packed({"name": "text", "shape": [1], "datatype": "BYTES"}, texts(["a"]))
    for size in ("-1", "1e3", str(len(body) + 1), "٣"):
        with pytest.raises(InputError, match="length of the JSON"):
            unpacked_body(body, size)
    with pytest.raises(InputError, match="byte more"):
        unpacked_body(body + b"x", headers[SIZE])
    with pytest.raises(InputError, match="binary_data_size"):
        unpacked_body(body[:-1], headers[SIZE])
