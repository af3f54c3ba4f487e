"""`regard atlas`: the attention of a long prompt, by passages and as a map that can be zoomed."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import echo, print_json, print_notes, remarks, results
from regard.cli.model_options import ModelChoice, device_option
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option, seeded
from regard.cli.verb import verb
from regard.errors import InputError, phrase
from regard.files import exists, read_json


@verb(
    "atlas",
    "regard atlas smollm2 --messages chat.json --html atlas.html",
    "regard atlas smollm2 --messages chat.json --answer 'Anna lives in Rome.' --layer 22 --layer 23 --html atlas.html",
    "regard atlas ./model --prompt 'a very long text ...' --every 8 --html overview.html",
)
@click.argument("model")
@click.option("--messages", metavar="FILE")
@click.option("--prompt")
@click.option("--answer")
@click.option("--sources")
@click.option("--separator")
@click.option("--layer", type=click.IntRange(0), multiple=True)
@click.option("--every", type=int, default=1, show_default=True)
@click.option("--new-tokens", type=click.IntRange(1), default=128, show_default=True)
@click.option("-o", "--out", "--html", "html", type=click.Path(path_type=Path))
@click.option("--redact", is_flag=True)
@seed_option
@device_option
def command(
    model: str,
    messages: str | None,
    prompt: str | None,
    answer: str | None,
    sources: str | None,
    separator: str | None,
    layer: tuple[int, ...],
    every: int,
    new_tokens: int,
    html: Path | None,
    redact: bool,
    seed: int,
    device: str,
    as_json: bool,
) -> None:
    if (messages is None) == (prompt is None):
        raise InputError(
            "atlas",
            expected=phrase("errors.cli.messages_file_or_prompt_text_b"),
            got=phrase("errors.common.both") if prompt else phrase("errors.common.neither"),
        )
    from regard.datasets.chat_logs import Chat, read_chats
    from regard.surveys.atlas import atlas

    chats = [Chat("--prompt", (), (), None)] if messages is None else read_chats(Path(messages))
    if len(chats) > 1:
        raise InputError("--messages", expected=phrase("errors.cli.one_chat"), got=f"{len(chats)}")
    if answer is not None and chats[0].answer is not None:
        raise InputError(
            "--answer", expected=phrase("errors.common.one_answer"), got=phrase("errors.cli.another_in_file_messages")
        )
    choice = ModelChoice(model, device)
    with bar(remarks(), making=choice.making), seeded(seed):
        result = atlas(
            choice.open(),
            chats[0].messages if prompt is None else prompt,
            answer if answer is not None else chats[0].answer,
            sources=read_json(Path(sources)) if sources is not None and exists(sources) else sources,
            separator=separator,
            documents=chats[0].documents,
            layers=layer or None,
            every=every,
            new_tokens=new_tokens,
        )
    result = result.redacted() if redact else result
    if html is not None:
        result.save(html)
    if as_json:
        print_json(result.to_json())
        return
    from regard.present.messages.messages import say
    from regard.present.terminal.atlas_view import atlas_view

    results().print(atlas_view(result.to_json()))
    results().print(say("atlas.caveat"), markup=False, style="dim")
    for one in result.layers:
        if one.blocks.every > 1:
            sampled = say("atlas.sampled", layer=one.layer, every=one.blocks.every, error=one.error)
            results().print(sampled, markup=False, style="dim")
    print_notes(result.notes)
    if html is not None:
        echo(say("term.written", path=html))
