"""`python -m benchmarks.peer_methods [ferret|quantus|transformer_lens|...]`: other libraries on identical work.

ferret: comprehensiveness of one ranking, the first 1, 2, 3 and 5 tokens masked, of MiniLM's classifier; it writes the
masked tokens as a text and reads that again, which splits some words otherwise. Quantus: the Gini index of maps (its
Sparseness). TextAttack: three recipes (`benchmarks.text_attacks`). inseq: input x gradient of SmolLM2. LXT: AttnLRP of
SmolLM2 (its repository at f043441; release 2.1 does not run with transformers 5). TransformerLens: every attention
weight of every head of SmolLM2. Agreement is the largest difference, or a correlation; time is CPU time of one thread,
the best of interleaved repeats; memory the peak of the process so far. A library that does not import is listed with
the reason. The directories in REGARD_PEERS are searched as in `benchmarks.peers`. Adds its lines to results/peers.json.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks import text_attacks
from benchmarks.lines import Line, peak_memory_mb, side_by_side
from benchmarks.peers import store, where
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.measures.complexity import gini
from regard.models.open.load import load
from regard.models.propagation.proof import propagated
from regard.records import Example
from regard.tap.capture_call import capture_call

TEXTS, COUNTS = 24, (1, 2, 3, 5)
MAPS = 200
PROMPT = 64
TEXT = " ".join(["The river rises in the hills, passes the old mill and the town, and reaches the sea at"] * 3)


def ferret() -> list[Line]:
    """Compare comprehensiveness of the same scores by masking: ferret's evaluator and one `Case.removed`."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    measures: Any = importlib.import_module("ferret.evaluators.faithfulness_measures")
    explanation: Any = importlib.import_module("ferret.explainers.explanation")
    from regard.sources.minilm import minilm

    path = minilm()
    tokenizer = AutoTokenizer.from_pretrained(path)
    evaluator = measures.AOPC_Comprehensiveness_Evaluation(
        AutoModelForSequenceClassification.from_pretrained(path).eval(), tokenizer
    )
    model, examples = load(path), list(read("reviews", split="test", limit=TEXTS))
    scores = [np.random.default_rng(i).random(len(model.encode(e).units)) for i, e in enumerate(examples)]
    targets = DeskCase(Desk(model), examples).targets
    values: dict[str, np.ndarray] = {}

    def theirs() -> None:
        options = {"based_on": "k", "thresholds": COUNTS, "remove_tokens": False}
        rows = []
        for example, own, target in zip(examples, scores, targets, strict=True):
            text = str(example.inputs["text"])
            scored = explanation.Explanation(text, evaluator.helper.get_tokens(text), own, "ours", target)
            # all scores are positive; its only_pos=False fails with NumPy 2.4
            result = evaluator.compute_evaluation(scored, target, removal_args=options)
            rows.append(float(result.score))
        values["ferret"] = np.array(rows)

    def ours() -> None:
        case = DeskCase(Desk(model), examples)
        drops = []
        for units, own in zip(case.units, scores, strict=True):
            free = np.flatnonzero(units.free)
            ranked = free[np.argsort(-own[free], kind="stable")]
            drops.append(np.stack([np.isin(np.arange(len(units)), ranked[:count]) for count in COUNTS]))
        answers = case.removed(drops, "mask")
        base = case.base().probability
        values["ours"] = np.array([base[i] - answers.probability[answers.rows(i)].mean() for i in range(len(examples))])

    what = f"comprehensiveness by masking, {len(examples)} sentences (MiniLM): CPU time, ours / ferret"
    return [_line(what, {"ours": ours, "ferret": theirs}, values)]


def quantus() -> list[Line]:
    """Compare the Gini index of the same maps."""
    library: Any = importlib.import_module("quantus")
    maps = np.random.default_rng(0).random((MAPS, 1, 14, 14))
    values: dict[str, np.ndarray] = {}

    def theirs() -> None:
        metric = library.Sparseness(disable_warnings=True)
        values["quantus"] = np.array(metric(model=None, x_batch=maps, y_batch=np.zeros(MAPS, int), a_batch=maps))

    def ours() -> None:
        values["ours"] = np.array([float(gini(one.ravel())) for one in maps])

    return [_line(f"Gini index of {MAPS} maps: CPU time, ours / Quantus", {"ours": ours, "quantus": theirs}, values)]


def inseq() -> list[Line]:
    """Input x gradient of the next token of SmolLM2; inseq takes the probability, we the log-odds: proportional."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from regard.sources.smollm2 import smollm2

    library: Any = importlib.import_module("inseq")
    path = smollm2()
    tokenizer = AutoTokenizer.from_pretrained(path)
    module = AutoModelForCausalLM.from_pretrained(path).eval()
    attributor = library.load_model(module, "input_x_gradient", tokenizer=tokenizer, device="cpu")
    model, example = load(path), Example("prompt", {"text": TEXT})
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    written = str(tokenizer.decode([int(module(ids).logits[0, -1].argmax())]))
    values: dict[str, np.ndarray] = {}

    def theirs() -> None:
        out = attributor.attribute(TEXT, TEXT + written, show_progress=False)
        values["inseq"] = out.sequence_attributions[0].target_attributions[: ids.shape[1], 0].sum(-1).numpy()

    def ours() -> None:
        values["ours"] = np.asarray(DeskCase(Desk(model), [example]).relevance("input_x_gradient")[0])

    torch.set_num_threads(1)
    seconds = side_by_side({"ours": ours, "inseq": theirs}, repeats=3)
    free = np.flatnonzero(values["ours"])
    detail: dict[str, float | str] = {f"{side} s": round(spent, 4) for side, spent in seconds.items()}
    detail |= {"correlation": float(abs(np.corrcoef(values["ours"][free], values["inseq"][free])[0, 1]))}
    detail["peak MB"] = peak_memory_mb()
    what = f"input x gradient of SmolLM2, {ids.shape[1]} tokens: CPU time, ours / inseq"
    return [Line(what, seconds["ours"] / seconds["inseq"], 1.0, "<=", detail)]


def lxt() -> list[Line]:
    """AttnLRP of the next token of SmolLM2 for every token of a prompt; LXT patches classes for good: it runs last."""
    from transformers import AutoModelForCausalLM

    from regard.sources.smollm2 import smollm2

    efficient: Any = importlib.import_module("lxt.efficient")
    module: Any = AutoModelForCausalLM.from_pretrained(smollm2()).eval().requires_grad_(False)
    ids = torch.randint(100, 40000, (1, PROMPT), generator=torch.Generator().manual_seed(0))
    x = module.get_input_embeddings()(ids).detach()
    target = int(module(inputs_embeds=x).logits[0, -1].argmax())
    values: dict[str, np.ndarray] = {}

    def ours() -> None:
        leaf = x.clone().requires_grad_()
        flow = propagated(
            module,
            lambda: {"logits": module(inputs_embeds=leaf.clone(), use_cache=False).logits[:, -1]},
            [leaf],
            lambda outputs: outputs["logits"][:, target],
            rule="attnlrp",
            rows=1,
        )
        assert flow is not None
        assert flow.gradients[0] is not None
        values["ours"] = (leaf * flow.gradients[0]).sum(-1).detach().numpy()

    def theirs() -> None:
        leaf = x.clone().requires_grad_()
        module(inputs_embeds=leaf, use_cache=False).logits[0, -1, target].backward()
        assert leaf.grad is not None
        values["lxt"] = (leaf * leaf.grad).sum(-1).detach().numpy()

    torch.set_num_threads(1)
    seconds = side_by_side({"ours": ours}, repeats=3)
    efficient.monkey_patch(importlib.import_module("transformers.models.llama.modeling_llama"))
    seconds |= side_by_side({"lxt": theirs}, repeats=3)
    detail: dict[str, float | str] = {f"{side} s": round(spent, 4) for side, spent in seconds.items()}
    apart = np.abs(values["ours"] - values["lxt"]).max() / np.abs(values["lxt"]).max()
    detail |= {"difference": float(apart), "peak MB": peak_memory_mb()}
    what = f"AttnLRP of SmolLM2, {PROMPT} tokens: largest difference from LXT / largest relevance"
    return [Line(what, float(apart), 1e-5, "<=", detail)]


def transformer_lens(tokens: int) -> list[Line]:
    """All weights of all heads of SmolLM2 as arrays, against the patterns in a TransformerLens cache."""
    from transformers import AutoModelForCausalLM

    from regard.sources.smollm2 import smollm2

    bridges: Any = importlib.import_module("transformer_lens.model_bridge")
    importlib.import_module("transformer_lens")
    path = smollm2()
    bridge = bridges.TransformerBridge.boot_transformers(path, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(path).eval()
    ids = torch.randint(100, 40000, (1, tokens), generator=torch.Generator().manual_seed(0))
    values: dict[str, np.ndarray] = {}

    def theirs() -> None:
        _, cache = bridge.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_pattern"))
        patterns = [cache[name].float().numpy() for name in cache if name.endswith("attn.hook_pattern")]
        values["transformer_lens"] = patterns[0]

    def ours() -> None:
        call = partial(model, ids, logits_to_keep=1, use_cache=False)
        sites = [site.dense() for site in capture_call(model, call, mode="weights")[1].sites]
        values["ours"] = sites[0].weights

    what = f"all weights of SmolLM2, {tokens} tokens: CPU time, ours / TransformerLens"
    with torch.inference_mode():
        return [_line(what, {"ours": ours, "transformer_lens": theirs}, values)]


def _line(what: str, sides: dict[str, Callable[[], object]], values: dict[str, np.ndarray]) -> Line:
    torch.set_num_threads(1)
    seconds = side_by_side(sides, repeats=3)
    ours, peer = sides
    detail: dict[str, float | str] = {f"{side} s": round(spent, 4) for side, spent in seconds.items()}
    apart = np.abs(values[ours] - values[peer])
    detail |= {"largest difference": float(apart.max()), "share equal to 1e-4": float((apart < 1e-4).mean())}
    detail["peak MB"] = peak_memory_mb()
    return Line(what, seconds[ours] / seconds[peer], 1.0, "<=", detail)


PEERS: dict[str, Callable[[], list[Line]]] = {
    "textattack": text_attacks.lines,
    "ferret": ferret,
    "quantus": quantus,
    "transformer_lens": partial(transformer_lens, 512),
    "transformer_lens_long": partial(transformer_lens, 1024),
    "inseq": inseq,
    "lxt": lxt,
}


def run(names: tuple[str, ...] = ()) -> list[Line]:
    """Return the lines of the peers that import; print the reason for the others."""
    where()
    lines = []
    for name in names or tuple(PEERS):
        try:
            lines += PEERS[name]()
        except ImportError as refusal:
            print(f"  {name}: {refusal}")
    return lines


def main() -> int:
    lines = run(tuple(sys.argv[1:]))
    for line in lines:
        print(line.shown())
    store(lines, {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
