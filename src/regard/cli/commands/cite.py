"""`regard cite`: an answer of a language model, and the parts of its prompt that it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.chat_options import characters, source_list
from regard.cli.console import echo, print_json, remarks, results
from regard.cli.model_options import ModelChoice, device_option
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option, seeded
from regard.cli.verb import verb
from regard.errors import InputError, phrase

if TYPE_CHECKING:
    from regard.datasets.chat_logs import Chat


@verb(
    "cite",
    "regard cite smollm2 --messages chat.json --answer 'Anna lives in Rome.'",
    "regard cite ./model --messages chat.json --sources sentences --json",
    "regard cite ./model --messages chat.json --sources passages.json --html cited.html",
    "regard cite ./model --messages chat.json --answer 'Anna lives in Rome.' --span Rome --contrast Oslo",
    "regard cite ./model --messages log.jsonl --json",
    "regard cite captioner --prompt '<image> : below-left' --image picture.png --sources 2x2 --units word",
    "regard cite ./model --prompt 'Anna lives in Rome. Bert lives in Oslo. Anna lives in' --answer ' Rome'",
)
@click.argument("model")
@click.option("--messages", metavar="FILE")
@click.option("--prompt")
@click.option("--image", type=click.Path(path_type=Path))
@click.option("--answer")
@click.option("--sources")
@click.option("--separator")
@click.option("--prefix", default="")
@click.option("--units", type=click.Choice(["sentence", "word", "answer"]), default="sentence", show_default=True)
@click.option("--span")
@click.option("--contrast")
@click.option("--delta", type=float, default=1.0, show_default=True)
@click.option("--check", type=click.IntRange(1), default=2, show_default=True)
@click.option("--passes", type=float, default=6.0, show_default=True)
@click.option("--new-tokens", type=click.IntRange(1), default=128, show_default=True)
@click.option("-o", "--out", "--html", "html", type=click.Path(path_type=Path))
@click.option("--redact", is_flag=True)
@seed_option
@device_option
def command(
    model: str,
    messages: str | None,
    prompt: str | None,
    image: Path | None,
    answer: str | None,
    sources: str | None,
    separator: str | None,
    prefix: str,
    units: str,
    span: str | None,
    contrast: str | None,
    delta: float,
    check: int,
    passes: float,
    new_tokens: int,
    html: Path | None,
    redact: bool,
    seed: int,
    device: str,
    as_json: bool,
) -> None:
    chats = _chats(messages, prompt)
    if answer is not None and (len(chats) > 1 or chats[0].answer is not None):
        raise InputError(
            "--answer", expected=phrase("errors.common.one_answer"), got=phrase("errors.cli.others_in_file_messages")
        )
    if html is not None and len(chats) > 1:
        raise InputError(
            "--html", expected=phrase("errors.cli.one_chat"), got=phrase("errors.cli.in_file_messages", n=len(chats))
        )
    from regard.datasets.picture_decoder import decoded
    from regard.surveys.cite import cite

    choice = ModelChoice(model, device)
    cited = []
    with bar(remarks(), making=choice.making) as progress_bar, seeded(seed):
        live = choice.open() if image is None else model
        picture = None if image is None else decoded(image, phrase("errors.common.picture_file", file=image))[0]
        progress_bar.stage("citing")
        for chat in chats:
            written = answer if answer is not None else chat.answer
            result = cite(
                live,
                chat.messages if prompt is None else prompt,
                written,
                sources=source_list(sources),
                separator=separator,
                documents=chat.documents,
                written_tokens=chat.tokens,
                image=picture,
                prefix=prefix,
                units=units,
                span=characters(span, written),
                contrast=contrast,
                check=check,
                passes=passes,
                delta=delta,
                new_tokens=new_tokens,
                device=device,
            )
            cited.append(result.redacted() if redact else result)
    if html is not None:
        cited[0].save(html)
    if as_json:
        facts = [{"record": chat.name, **result.to_json()} for chat, result in zip(chats, cited, strict=True)]
        print_json(facts if _is_log(messages) else cited[0].to_json())
        return
    from regard.present.messages.messages import say
    from regard.present.terminal.citations_view import citations_view

    for chat, result in zip(chats, cited, strict=True):
        if _is_log(messages):
            results().print(chat.name, markup=False, style="bold")
        results().print(citations_view(result.to_json()))
    if html is not None:
        echo(say("term.written", path=html))


def _chats(messages: str | None, prompt: str | None) -> list[Chat]:
    """Return the chats of the file; for a prompt, one without messages."""
    if (messages is None) == (prompt is None):
        raise InputError(
            "cite",
            expected=phrase("errors.cli.messages_file_or_prompt_text_b"),
            got=phrase("errors.common.both") if prompt else phrase("errors.common.neither"),
        )
    from regard.datasets.chat_logs import Chat, read_chats

    return [Chat("--prompt", (), (), None)] if messages is None else read_chats(Path(messages))


def _is_log(messages: str | None) -> bool:
    return messages is not None and messages.endswith(".jsonl")
