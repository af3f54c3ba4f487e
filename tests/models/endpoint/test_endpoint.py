"""A model behind an API gives the values that it gives in this process, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.audits.audit import audit
from regard.audits.explain import explain
from regard.errors import EnvironmentProblem, InputError, Unsupported
from regard.models.endpoint import client
from regard.models.endpoint.address import parse_address
from regard.models.endpoint.endpoint_model import EndpointModel, open_endpoint
from regard.models.open.load import load
from regard.present.messages.messages import say
from regard.present.report.as_markdown import run_markdown
from regard.present.report.citations_page import citations_page
from regard.present.report.report import report
from regard.records import Example, Spec, Threat
from regard.surveys.attack import attack
from regard.surveys.cite import cite
from regard.surveys.noise_table import noise_table
from regard.testing.completions_stub import CompletionsStub, served_completions
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima")
FACTS = ["Anna lives in Rome .", "Bert lives in Oslo .", "Clara lives in Lima ."]
PROMPT = "\n".join(FACTS[:2]) + "\n" + "Anna and Anna Rome live in"


@cache
def native() -> Any:
    module, tokenizer = copier(CITIES, [*FACTS, PROMPT, "answer :"], strength=4.0)
    return load(module, processor=tokenizer, name="copier")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served_completions(CompletionsStub(native())) as url:
        yield f"openai:{url}#copier"


@pytest.fixture
def model(address: str, tmp_path: Path) -> EndpointModel:
    return open_endpoint(address, tmp_path)


def test_predictions_and_removals_equal_those_in_process(model: EndpointModel) -> None:
    here = native()
    example = Example("one", {"text": PROMPT})
    inside, outside = here.encode(example), model.encode(example)
    assert list(outside.units.names) == [n.strip() for n in inside.units.names]
    (own, targets), (sent, words) = here.predict([inside]), model.predict([outside])
    assert str(words[0]).strip() == "Rome"
    assert sent.value == pytest.approx(own.value, abs=1e-5)
    assert sent.probability == pytest.approx(own.probability, abs=1e-6)
    rng = np.random.default_rng(0)
    for i in range(len(outside.units) - 1):
        drop = np.arange(len(outside.units)) == i
        shorter = model.forward([model.remove(outside, drop, "delete", rng)], words)
        expected = here.forward([here.remove(inside, drop, "delete", rng)], targets)
        assert shorter.value == pytest.approx(expected.value, abs=1e-5)


@pytest.mark.parametrize(
    "method", ["leave_one_out:operator=delete", "occlusion:operator=delete,window=2", "lime:operator=delete,samples=40"]
)
def test_perturbation_explainers_equal_those_in_process(model: EndpointModel, method: str) -> None:
    text = "Anna lives in Rome . Bert lives in"
    own, sent = (explain(m, [Example("one", {"text": text})], [method]) for m in (native(), model))
    np.testing.assert_allclose(sent.relevance[method][0], own.relevance[method][0], atol=1e-4)
    assert np.abs(sent.relevance[method][0]).max() > 0.1


def test_labels_make_a_classifier_whose_noise_can_be_measured(address: str, tmp_path: Path) -> None:
    """Its distribution is that of the label tokens in this process; perturbations are then measured as usual."""
    model = open_endpoint(f"{address};labels=Rome,Oslo;after=%20lives%20in", tmp_path)
    here, text = native(), "Anna lives in Rome . Bert"
    module, tokenizer = here.module, here.traits.tokenizer
    ids = tokenizer(text + " lives in", return_tensors="pt")["input_ids"]
    logits = module(ids).logits[0, -1].detach().double()
    pair = logits[[tokenizer.get_vocab()[name] for name in ("Rome", "Oslo")]].softmax(0).numpy()
    answers, targets = model.predict([model.encode(Example("one", {"text": text}))])
    assert targets == [0]
    np.testing.assert_allclose(answers.distribution, pair[None], atol=1e-6)
    assert answers.value[0] == pytest.approx(np.log(pair[0] / pair[1]), abs=1e-5)
    explained = explain(model, text, ["leave_one_out:operator=delete"])
    assert explained.marks  # classes have trust marks
    rows = [Example(str(i), {"text": FACTS[i] + " Anna"}, label=CITIES[i]) for i in range(2)]
    clean, noisy = noise_table(model, rows, [Spec("perturbation", "drop_words")], (5,))
    assert (clean.n, noisy.n) == (2, 2)
    assert clean.accuracy == 1.0


def test_a_server_that_ignores_echo_is_refused_unless_labels_are_among_the_likeliest_tokens(address: str) -> None:
    text = "Anna lives in Rome . Bert"
    labels = ";cache=no;labels=Rome,Oslo;after=%20lives%20in"
    scored = open_endpoint(address + labels, None)
    with served_completions(CompletionsStub(native(), echo=False)) as url:
        silent = open_endpoint(f"openai:{url}#copier{labels}", None)
        with pytest.raises(Unsupported, match="echoed prompt"):
            silent.predict([silent.encode(Example("one", {"text": text}))])
        likely = open_endpoint(f"openai:{url}#copier{labels};top=20", None)
        method = "leave_one_out:operator=delete"
        own, sent = (explain(model, text, [method]).relevance[method][0] for model in (scored, likely))
        np.testing.assert_allclose(sent, own, atol=1e-5)
        unlikely = open_endpoint(f"openai:{url}#copier{labels.replace('Oslo', 'nowhere')};top=2", None)
        with pytest.raises(Unsupported, match="nowhere"):
            unlikely.predict([unlikely.encode(Example("one", {"text": text}))])
    with pytest.raises(InputError, match="labels="):
        open_endpoint(f"{address};top=5", None)


def test_tokens_that_a_server_adds_to_an_echo_do_not_count() -> None:
    table = {"token_logprobs": [None, -1.0, -2.0], "text_offset": [0, 4, 9], "tokens": ["", "", ""]}
    answer = {"choices": [{"text": "", "logprobs": table}]}
    row = client._reduced(answer, {"echo": True, "prompt": "Anna Rome", "logprobs": 1}, name="m")
    assert row == {"offsets": [0, 4], "log_probabilities": [None, -1.0]}


def test_attacks_reach_the_endpoint_and_report_its_answers(address: str, tmp_path: Path) -> None:
    model = open_endpoint(f"{address};labels=Rome,Oslo;after=%20lives%20in", tmp_path)
    rows = [Example(str(i), {"text": FACTS[i] + " Anna"}, label=CITIES[i]) for i in range(2)]
    run = attack(model, rows, ["input_reduction"], threat=Threat(budget=60), check=False, watch=None)
    reduced = [record for record in run.found["input_reduction"] if record.status == "success"]
    assert len(reduced) == 2
    for record in reduced:
        assert record.example is not None
        answers, targets = model.predict([model.encode(record.example)])
        assert targets == [record.before]  # this attack keeps the answer
        assert answers.probability[0] == pytest.approx(record.said_after[int(str(targets[0]))], abs=1e-6)


def test_attention_and_gradients_are_refused(model: EndpointModel) -> None:
    result = explain(model, PROMPT, ["attention", "saliency", "leave_one_out"])
    assert set(result.skipped) == {"attention", "saliency"}
    with pytest.raises(Unsupported, match="behind an API"):
        model.capture([model.encode(Example("one", {"text": PROMPT}))], ["Rome"])


def test_citations_by_deletion_equal_deletions_in_process(model: EndpointModel) -> None:
    arguments: dict[str, Any] = {"sources": FACTS[:2], "check": 2}
    sent = cite(model, PROMPT, " Rome", **arguments)
    own = cite(native(), PROMPT, " Rome", **arguments)
    assert sent.ranking == "leave_source_out"
    assert sent.sentences[0].log_odds == pytest.approx(own.sentences[0].log_odds, abs=1e-4)
    assert sent.sentences[0].whole == pytest.approx(own.sentences[0].whole, abs=1e-4)
    for deleted, exact in zip(sent.sentences[0].effects, own.sentences[0].exact, strict=True):
        if exact is not None:
            assert deleted == pytest.approx(exact, abs=1e-4)
    assert (sent.sentences[0].status, sent.sentences[0].cited) == (own.sentences[0].status, own.sentences[0].cited)
    assert say("endpoint.page") in citations_page(sent.to_json())
    with pytest.raises(Unsupported, match="plain prompt"):
        cite(model, [{"role": "user", "content": PROMPT}], "Rome")


def test_an_audit_runs_and_every_page_says_that_attention_is_missing(address: str, tmp_path: Path) -> None:
    texts = [f"{FACTS[i % 3]} {FACTS[(i + 1) % 3]} Anna lives in" for i in range(6)]
    examples = [Example(f"t{i}", {"text": text + f" {'and' * (i % 2)}".rstrip()}) for i, text in enumerate(texts)]
    run = audit(
        f"{address};cache=no;price=2",
        examples,
        out=tmp_path / "run",
        budget="none",
        limit=6,
        explainers=["attention", "leave_one_out", "random"],
        metrics=["comprehensiveness"],
        experiments=[],
    )
    assert set(run.methods()) == {"leave_one_out", "random"}
    assert "attention" in run.skipped
    for page in (report(run), run_markdown(run)):
        assert "behind an API" in page
    notes = " ".join(map(str, run.manifest["data"]["notes"]))
    assert "requests" in notes


def test_refusals_are_retried_and_failures_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    stub = CompletionsStub(native(), fail=(429, 503))
    with served_completions(stub) as url:
        model = open_endpoint(f"openai:{url}#copier;parallel=1", tmp_path)
        model.client.continuations([PROMPT])
        assert (stub.requests, model.client.requests) == (3, 1)
        model.client.continuations([PROMPT])
        assert (stub.requests, model.client.cached) == (3, 1)  # from the cache
        again = open_endpoint(f"openai:{url}#copier", tmp_path)
        again.client.continuations([PROMPT])
        assert (stub.requests, again.client.cached) == (3, 1)  # and from the disk
        assert PROMPT.encode() not in (tmp_path / "answers.sqlite").read_bytes()
        with pytest.raises(EnvironmentProblem, match="no model other"):
            open_endpoint(f"openai:{url}#other", tmp_path).client.continuations([PROMPT])
    assert pauses == [0.25, 0.5]
    with pytest.raises(EnvironmentProblem, match="an answer of copier"):
        open_endpoint(f"openai:{url}#copier;retries=0", None).client.continuations([PROMPT])


def test_requests_keep_to_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    monkeypatch.setattr(client.time, "monotonic", lambda: 100.0)
    slow = client.EndpointClient(parse_address("openai:http://127.0.0.1:1/v1#m;rate=4"), None)
    for _ in range(3):
        slow._wait_turn()
    assert pauses == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    "text", ["openai:ftp://a/v1#m", "openai:http://h/v1", "openai:http://h/v1#m;rate=x", "openai:#m"]
)
def test_bad_addresses_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        load(text)
