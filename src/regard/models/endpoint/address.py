"""Addresses of models behind an API: `openai:http://127.0.0.1:8000/v1#model;rate=20;price=0.15`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import unquote, urlsplit

from regard.errors import InputError, UnknownName, phrase

PREFIX = "openai:"


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """Address of an endpoint. url: up to and including /v1. rate: requests per second, 0 for no limit.

    price: per million prompt tokens.

    parallel: requests at the same time. retries: after a refusal or a failure. seconds: of one request. cache: whether
    answers stay on disk (numbers and the first written token; prompts as hashes). labels: answers to choose among; the
    model is then a classifier. after: text that follows the input before the answer, percent-encoded in the address.
    top: score labels by so many of the likeliest first tokens, for an endpoint without `echo`; 0: by `echo`.
    """

    url: str
    model: str
    rate: float = 0.0
    parallel: int = 4
    retries: int = 5
    seconds: float = 60.0
    price: float = 0.0
    cache: bool = True
    labels: tuple[str, ...] = ()
    after: str = ""
    top: int = 0

    @property
    def local(self) -> bool:
        return urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")


def parse_address(text: str) -> EndpointAddress:
    """
    >>> parse_address("openai:http://127.0.0.1:8000/v1#tiny;rate=20").rate
    20.0
    """
    url, _, rest = text.removeprefix(PREFIX).partition("#")
    model, *settings = rest.split(";")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not model or parts.username:
        raise InputError(
            phrase("errors.common.model_live", live=text[:80]),
            expected="openai:http://HOST:PORT/v1#MODEL",
            got=phrase("errors.models.another_address"),
        )
    kinds = {item.name: type(item.default) for item in fields(EndpointAddress) if item.name not in ("url", "model")}
    values: dict[str, Any] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in kinds:
            raise UnknownName(phrase("errors.models.setting_endpoint"), name, kinds)
        values[name] = _value(name, kinds[name], value)
    if len(values.get("labels", ("", ""))) < 2:
        raise InputError(
            phrase("errors.models.labels_endpoint"),
            expected=phrase("errors.models.at_least_two"),
            got=str(values["labels"]),
        )
    if values.get("top") and (values["top"] < 2 or "labels" not in values):
        raise InputError(
            phrase("errors.models.top_endpoint"),
            expected=phrase("errors.models.two_or_more_beside_labels"),
            got=str(values["top"]),
        )
    return EndpointAddress(url.rstrip("/"), model, **values)


def _value(name: str, kind: type, text: str) -> Any:
    if kind is str:
        return unquote(text)
    if kind is tuple:
        return tuple(dict.fromkeys(unquote(part) for part in text.split(",") if part.strip()))
    if kind is bool:
        if text not in ("yes", "no"):
            raise InputError(
                phrase("errors.models.endpoint_name", name=name), expected=phrase("errors.models.yes_or_no"), got=text
            )
        return text == "yes"
    try:
        number = kind(text)
    except ValueError:
        raise InputError(
            phrase("errors.models.endpoint_name", name=name), expected=phrase("errors.common.number"), got=text
        ) from None
    if number < (1 if name == "parallel" else 0) or number > 1e6:
        raise InputError(
            phrase("errors.models.endpoint_name", name=name), expected=phrase("errors.models.number_or_more"), got=text
        )
    return float(number) if kind is float else int(number)
