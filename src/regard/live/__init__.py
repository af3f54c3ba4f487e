"""Live models behind the viewer: the local app (`server`), the notebook widget (`widget`), and their shared requests.

Both hosts carry the same requests, so the front end has one interface, `call(op, body)` and `chunk(pack, name)`:

| op | body | answer |
|---|---|---|
| `hello` | {} | {model, task, labels, run, methods, about, chosen, can, pack, ...}: see below |
| `ask` | {text, pair?, methods: [name, ...], beside?: pack} | {job}; its result is {pack, said, skipped, seconds} |
| `edit` | {pack, example, edits: [...]} | {job}; its result is {before, after, change, pack, spec} |
| `alternative` | {pack, example, cap?} | {job}; its result is {edits, divergence, change, source: "audit" | "search"} |
| `job` | {job, after?} | {job, state, stage, done, total, seconds, version, result?, partial?, error?} (see below) |
| `cancel` | {job} | {job, state, partial?} |
| `language` | {lang, pack?} | {dictionary}; later answers, and the pack, are told in that language |
| `manifest` | {pack} | the manifest of a pack (present/pack/pack.py) |
| `marks` | {pack, example} | {marks: [{places, author, date}, ...]} |
| `mark` | {pack, example, units: [index, ...], author} | {marks}; what a person calls decisive, kept on disk |
| `open` | {spec} | {job}; like `ask`, then `edit`: somebody else's Spec, shown here |

`chunk(pack, name)` gives the gzip bytes of one chunk. Over HTTP a request is `POST /api/OP` with a JSON body and the
header `Authorization: Bearer TOKEN`, a chunk is `GET /api/chunk/PACK/NAME`; in a notebook both are messages
{"id", "op", "body"} answered by {"id", "answer"} or {"id", "error"}, a chunk with one binary buffer.

An error is {"error": {subject, expected, got, remedy, said}}; `said` is the whole sentence.
hello: {model, task, labels, run, methods, about, chosen, can, pack, lang, languages, dictionary, others, began}.
methods are names of explainers, about says what is known of each, chosen are the ones to begin with; can is
{ask, edit, mark, alternative}, each true or false; pack is what is shown first; lang is spoken, languages are names by
code, dictionary holds the words of the page (none in English); others are models that read every text too; began is
{job, text, text_pair} of a first text that is still being read.
ask: the text of the pack `beside` is put beside the new one, to be compared.
state: "waiting", "running", "done", "failed", "cancelled". With `after`, `job` waits up to half a second until its
version is higher than that. partial: {pack, done, waiting} of an `ask` whose methods are still running, the cheapest
first: a pack of what is known so far. It stays after `cancel`.
before, after: {label, probability, distribution: [[label, p], ...]}; change: total variation between the two.

An edit: {"what", "site", "heads": [..]?, "queries": [..]?, "keys": [..]?}; what is not given means all. what:
"uniform", "knock_out", "mask_heads", "permute" (seed), "scale" (factor) as in `records.Edit`; "replace" (values: heads
x queries x keys); "move" (from, to, share: that part of the weight of key `from` goes to key `to`). They are applied in
their order, and the list is all there is: undo takes the last one off and asks again.
spec: {"kind": "edits", "name": "attention", "params": {model, fingerprint, text, pair?, methods, edits}}.
"""
