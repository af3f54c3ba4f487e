"""`python -m benchmarks.citation_peers [--n 32]`: which tool names the passage that an answer was copied from?

The same planted prompts (`planted_answers("single")`), the same rendered text and the same answer go to regard's
methods and to other tools: ContextCite, Captum, inseq, FlashTrace. Each is a process of its own on SmolLM2, one thread.
Counted: prompts whose first passage is the planted one (Wilson intervals), token positions computed / positions of the
prompt (a position with a backward pass counts three times), CPU seconds of a prompt, and peak memory. A tool that does
not install or run here is listed with its reason. Writes results/citation_peers.json; `make bench` runs three prompts.

Peers are installed without their dependencies; text splitters that they import but that nothing here uses (spaCy, NLTK,
seaborn, wordfreq) are replaced by empty modules.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.machinery
import importlib.metadata
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import commit
from benchmarks.lines import Line, peak_memory_mb

RESULTS = Path(__file__).parent / "results" / "citation_peers.json"
SEED = 41
UNUSED = ("nltk", "spacy", "spacy.language", "spacy.tokens", "spacy.lang", "spacy.lang.en", "seaborn", "wordfreq")
PACKAGES = {
    "context_cite": "context-cite",
    "captum": "captum",
    "inseq": "inseq",
    "flashtrace": "flashtrace",
    "at2": "at2",
}
"""Package of every peer, by the beginning of its method's name."""


class Prompt:
    """A planted prompt as rendered text: passages by character span, answer, tokens."""

    def __init__(self, planted: Any, tokenizer: Any) -> None:
        self.planted, self.tokenizer = planted, tokenizer
        (self.gold,) = planted.gold[0]
        self.answer, self.passages = planted.answer, list(planted.passages)
        self.text = self.rendered(planted.messages[0]["content"])
        self.spans = [(self.text.index(p), self.text.index(p) + len(p)) for p in self.passages]

    def rendered(self, content: str) -> str:
        """Render a user message, followed by the beginning of the answer."""
        turns = [{"role": "user", "content": content}]
        page = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return str(page) + str(self.planted.prefix)

    def without(self, mask: Any) -> str:
        """Return the user message with only the passages of a mask."""
        content = str(self.planted.messages[0]["content"])
        for passage, kept in zip(self.passages, mask, strict=True):
            content = content if kept else content.replace(passage + "\n", "").replace(passage, "")
        return content

    def by_passage(self, scores: Any) -> list[float]:
        """Sum scores of the rendered prompt's tokens over the tokens that begin in each passage."""
        encoding = self.tokenizer(self.text, add_special_tokens=False, return_offsets_mapping=True)
        starts = np.array([a + (self.text[a : a + 1] == " ") for a, _ in encoding["offset_mapping"]])
        values = np.asarray(scores, np.float64)[: len(starts)]
        return [float(values[(starts >= a) & (starts < b)].sum()) for a, b in self.spans]


Method = Callable[[Any, Any, Prompt], Any]


def _regard(name: str) -> Method:
    def scores(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
        from regard.models.ask.chat_model import chat_model
        from regard.models.chat.answer_case import AnswerCase
        from regard.models.chat.conversation import conversation
        from regard.models.chat.prompt_reader import PromptReader
        from regard.models.chat.sources import find_sources
        from regard.models.open.load import load
        from regard.records import Spec
        from regard.registry import build

        chat = chat_model(load(model, processor=tokenizer))
        turns = conversation(tokenizer, prompt.planted.messages, name="smollm2")
        reader = PromptReader(chat, turns, find_sources(turns, prompt.passages)[0], prompt.planted.prefix)
        case = AnswerCase(reader, reader.answer(prompt.answer, 1))
        return build(Spec.parse("citer", name))(case)[0]

    return scores


def _context_cite(ablations: int) -> Method:
    def scores(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
        from context_cite import ContextCiter
        from context_cite.context_partitioner import BaseContextPartitioner

        class Passages(BaseContextPartitioner):  # type: ignore[misc]
            @property
            def num_sources(self) -> int:
                return len(prompt.passages)

            def split_context(self) -> None: ...

            def get_source(self, index: int) -> str:
                return prompt.passages[index]

            def get_context(self, mask: Any = None) -> str:
                return prompt.without(np.ones(len(prompt.passages), bool) if mask is None else mask)

        citer = ContextCiter(
            model,
            tokenizer,
            "",
            "",
            num_ablations=ablations,
            prompt_template="{context}",
            partitioner=Passages(""),
        )
        citer._cache["output"] = prompt.text + prompt.answer
        start = len(prompt.planted.prefix)
        return citer.get_attributions(start_idx=start, end_idx=start + len(prompt.answer), verbose=False)

    return scores


def _captum(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
    from captum.attr import FeatureAblation, LLMAttribution, TextTemplateInput

    def template(*passages: str) -> str:
        return prompt.rendered(prompt.without([bool(passage) for passage in passages]))

    features = TextTemplateInput(template=template, values=prompt.passages)
    ids = tokenizer(prompt.answer, add_special_tokens=False)["input_ids"]
    attribution = LLMAttribution(FeatureAblation(model), tokenizer)
    import torch

    return attribution.attribute(features, target=torch.tensor(ids)).seq_attr.detach().numpy()


def _inseq(signed: bool) -> Method:
    """Input x gradient; over the dimensions of a token, its default is the norm, and the signed sum an option."""

    def scores(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
        import inseq

        wrapped = inseq.load_model(model, "input_x_gradient", tokenizer=tokenizer)
        out = wrapped.attribute(
            prompt.text,
            prompt.text + prompt.answer,
            skip_special_tokens=False,
            clean_special_chars=False,
            show_progress=False,
            pretty_progress=False,
            attributed_fn="logit",
        )
        record = out.sequence_attributions[0]
        table = record.target_attributions.detach().double().nan_to_num(0)
        values = (table.sum(-1) if signed else table.norm(dim=-1)).sum(-1).numpy()
        # it cleans the text before it cuts tokens: scores go to the tokens that both texts have
        own = tokenizer.convert_ids_to_tokens(tokenizer(prompt.text, add_special_tokens=False)["input_ids"])
        matched = np.zeros(len(own))
        for block in SequenceMatcher(None, own, [t.token for t in record.target], autojunk=False).get_matching_blocks():
            matched[block.a : block.a + block.size] = values[block.b : block.b + block.size]
        return prompt.by_passage(matched)

    return scores


def _flashtrace(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
    from flashtrace import FlashTrace

    result = FlashTrace(model, tokenizer).trace(prompt=prompt.text, target=prompt.answer)
    return prompt.by_passage(result.scores)


def _at2(model: Any, tokenizer: Any, prompt: Prompt) -> Any:
    raise RuntimeError("needs head weights learnt on thousands of prompts; none are published for this model")


METHODS: dict[str, Method] = {
    "regard row_knock_out": _regard("row_knock_out"),
    "regard gradient_contributions": _regard("gradient_contributions"),
    "regard leave_source_out": _regard("leave_source_out"),
    "regard attention": _regard("attention"),
    "context_cite, 32 ablations": _context_cite(32),
    "captum LLMAttribution, FeatureAblation": _captum,
    "inseq input_x_gradient": _inseq(signed=False),
    "inseq input_x_gradient, signed sum": _inseq(signed=True),
    "flashtrace": _flashtrace,
    "at2": _at2,
}


def measure(name: str, n: int) -> dict[str, Any]:
    """Run one method on every prompt in this process."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from regard.datasets.planted_answers import planted_answers
    from regard.measures.intervals import wilson
    from regard.sources.smollm2 import smollm2

    torch.set_num_threads(1)
    _replace_unused()
    folder = smollm2()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    how = {"attn_implementation": "eager"} if name.startswith("flashtrace") else {}
    model = AutoModelForCausalLM.from_pretrained(folder, **how).eval()
    computed = _counted(model)
    prompts = [Prompt(planted, tokenizer) for planted in planted_answers("single", n=n, seed=SEED)]
    start_mb, hits, passes, seconds = peak_memory_mb(), 0, [], []
    for prompt in prompts:
        before, began = computed[0], time.process_time()
        scores = np.asarray(METHODS[name](model, tokenizer, prompt), np.float64).ravel()
        seconds.append(time.process_time() - began)
        passes.append((computed[0] - before) / len(tokenizer(prompt.text)["input_ids"]))
        hits += int(np.argmax(scores)) == prompt.gold
    low, high = wilson(hits, n)
    return {
        "top_1": {"k": hits, "n": n, "low": round(float(low), 3), "high": round(float(high), 3)},
        "passes": round(float(np.mean(passes)), 2),
        "seconds": round(float(np.median(seconds)), 3),
        "peak_mb": round(peak_memory_mb(), 0),
        "extra_mb": round(peak_memory_mb() - start_mb, 0),
    }


def _counted(model: Any) -> list[float]:
    """Count the positions that the model computes; passes with gradients count three times."""
    import torch

    computed = [0.0]

    def count(module: Any, args: Any, kwargs: Any) -> None:
        tensor = kwargs.get("input_ids") if kwargs.get("input_ids") is not None else kwargs.get("inputs_embeds")
        tensor = args[0] if tensor is None else tensor
        graph = torch.is_grad_enabled() and (tensor.requires_grad or kwargs.get("inputs_embeds") is not None)
        computed[0] += tensor.shape[0] * tensor.shape[1] * (3.0 if graph else 1.0)

    model.model.register_forward_pre_hook(count, with_kwargs=True)  # below the head: some tools call `forward` itself
    return computed


def _replace_unused() -> None:
    from unittest.mock import MagicMock

    for name in UNUSED:
        try:
            importlib.import_module(name)
        except ImportError:
            empty = MagicMock()
            empty.__spec__ = importlib.machinery.ModuleSpec(name, None)  # `find_spec` of transformers looks at it
            empty.Language = type("Language", (), {"component": staticmethod(lambda name: lambda function: function)})
            sys.modules[name] = empty


def _row(name: str, n: int) -> dict[str, Any]:
    """Measure one method in its own process; return the reason if it does not run."""
    package = next((PACKAGES[key] for key in PACKAGES if name.startswith(key)), None)
    row: dict[str, Any] = {"method": name}
    if package is not None:
        try:
            row["version"] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return {**row, "reason": f"{package} is not installed"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.citation_peers", "--method", name, "--n", str(n)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return {**row, "reason": (ran.stderr.strip().splitlines() or ["it stopped"])[-1][:200]}
    return {**row, **json.loads(ran.stdout.splitlines()[-1])}


def run() -> list[Line]:
    """A short comparison for `make bench`: row knock-out against ContextCite."""
    rows = {name: _row(name, 3) for name in ("regard row_knock_out", "context_cite, 32 ablations")}
    own, other = rows.values()
    if "reason" in other:
        print(f"  context_cite: {other['reason']}")
        return []
    detail: dict[str, float | str] = {"passes": own["passes"], "ContextCite's": other["passes"]}
    return [Line("row knock-out: passes / ContextCite's", own["passes"] / other["passes"], 0.2, "<=", detail)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--n", type=int, default=32)
    parser.add_argument("--method", help="measure one method in this process, and write nothing")
    parser.add_argument("--only", help="beginning of the methods to run; the rows of others stay as stored")
    options = parser.parse_args()
    if options.method:
        print(json.dumps(measure(options.method, options.n)))
        return 0
    before = json.loads(RESULTS.read_text("utf-8"))["rows"] if RESULTS.exists() else []
    rows = {row["method"]: row for row in before}
    for name in METHODS:
        if name.startswith(options.only or ""):
            rows[name] = _row(name, options.n)
            print(json.dumps(rows[name]), flush=True)
            write([rows[method] for method in METHODS if method in rows])
    return 0


def write(rows: list[dict[str, Any]]) -> None:
    """Write the rows measured so far."""
    record = {
        "command": "python -m benchmarks.citation_peers",
        "commit": commit(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}, 1 thread, CPU time",
        "model": "SmolLM2-135M-Instruct",
        "seed": SEED,
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
