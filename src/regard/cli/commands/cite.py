"""`regard cite`: an answer of a language model, and the parts of its prompt that it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regard.cli.console import echo, print_json, remarks, results
from regard.cli.model_options import ModelChoice
from regard.cli.progress import bar
from regard.cli.verb import verb
from regard.errors import InputError
from regard.files import exists, read_json


@verb(
    "cite",
    "regard cite smollm2 --messages chat.json --answer 'Anna lives in Rome.'",
    "regard cite ./model --messages chat.json --sources sentences --json",
    "regard cite ./model --messages chat.json --sources passages.json --html cited.html",
    "regard cite ./model --prompt 'Anna lives in Rome. Bert lives in Oslo. Anna lives in' --answer ' Rome'",
)
@click.argument("model")
@click.option(
    "--messages",
    metavar="FILE",
    help="JSON file: a list of messages, or an object with messages, documents and answer.",
)
@click.option("--prompt", help="A plain text instead of messages.")
@click.option("--answer", help="The answer (default: the last assistant message, else the model writes one).")
@click.option(
    "--sources",
    help="passages, lines, sentences, messages or documents; or a JSON file with a list of texts or spans.",
)
@click.option("--separator", help="Text that stands between the sources.")
@click.option("--prefix", default="", help="Beginning of the answer that is read but not scored.")
@click.option("--units", type=click.Choice(["sentence", "answer"]), default="sentence", show_default=True)
@click.option("--delta", type=float, default=1.0, show_default=True, help="Threshold of an effect, in nats.")
@click.option("--check", type=click.IntRange(1), default=2, show_default=True, help="Sources deleted per sentence.")
@click.option("--new-tokens", type=click.IntRange(1), default=128, show_default=True, help="Longest written answer.")
@click.option("--html", type=click.Path(path_type=Path), help="Also write a page.")
@click.option("--redact", is_flag=True, help="Replace every word of answer and sources by a placeholder.")
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda or mps.")
def command(
    model: str,
    messages: str | None,
    prompt: str | None,
    answer: str | None,
    sources: str | None,
    separator: str | None,
    prefix: str,
    units: str,
    delta: float,
    check: int,
    new_tokens: int,
    html: Path | None,
    redact: bool,
    device: str,
    as_json: bool,
) -> None:
    turns, documents, stored_answer = _chat(messages, prompt)
    if answer is not None and stored_answer is not None:
        raise InputError("--answer", expected="one answer", got="another one in the file of --messages")
    from regard.surveys.cite import cite

    choice = ModelChoice(model, device, None, "windows")
    with bar(remarks(), making=choice.making):
        result = cite(
            choice.open(),
            turns,
            answer if answer is not None else stored_answer,
            sources=read_json(Path(sources)) if sources is not None and exists(sources) else sources,
            separator=separator,
            documents=documents,
            prefix=prefix,
            units=units,
            check=check,
            delta=delta,
            new_tokens=new_tokens,
        )
    result = result.redacted() if redact else result
    if html is not None:
        result.save(html)
    if as_json:
        print_json(result.to_json())
        return
    from regard.present.messages.messages import say
    from regard.present.terminal.citations_view import citations_view

    results().print(citations_view(result.to_json()))
    if html is not None:
        echo(say("term.written", path=html))


def _chat(messages: str | None, prompt: str | None) -> tuple[Any, list[Any], Any]:
    """Return the messages or the prompt, the documents, and the answer of the file."""
    if (messages is None) == (prompt is None):
        raise InputError("cite", expected="--messages FILE or --prompt TEXT", got="both" if prompt else "neither")
    if messages is None:
        return prompt, [], None
    content = read_json(Path(messages))
    if isinstance(content, list):
        return content, [], None
    if not isinstance(content, dict) or not isinstance(content.get("messages"), list):
        expected = "a list of messages, or an object with messages"
        raise InputError(f"file {messages}", expected=expected, got=type(content).__name__)
    documents = content.get("documents") or []
    if not isinstance(documents, list):
        raise InputError(f"file {messages}", expected="a list of documents", got=type(documents).__name__)
    return content["messages"], documents, content.get("answer")
