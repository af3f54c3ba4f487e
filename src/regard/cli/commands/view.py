"""`regard view`: open a run or a live model in the local app, or export it."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.example_input import (
    one_example,
    row_label,
    row_label_line,
    row_labels_option,
    row_options,
    sound_option,
)
from regard.cli.model_options import (
    ModelChoice,
    checked_names,
    listed,
    model_options,
    permitted,
    recording_options,
    remembered,
)
from regard.cli.progress import bar
from regard.cli.row_option import new_rows, typed_rows
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import InputError, UnknownName, phrase
from regard.present.messages.messages import say
from regard.visible import as_references

if TYPE_CHECKING:
    from regard.live.session import Session
    from regard.records import Example, Json

FILE = click.Path(path_type=Path, dir_okay=False)


@verb(
    "view",
    "regard view bilstm --text 'a quiet, moving film'",
    "regard view RUN",
    "regard view minilm --text 'a quiet film' -o view.html",
    "regard view minilm --text 'a quiet film' --view head_view --svg heads.svg --pdf heads.pdf",
    "regard view smollm2 --text 'The capital of France is' --generate 5",
    "regard view smollm2 --text 'a long prompt ...' --rows last",
    "regard view digits --data digits --row 3 --png digit.png",
    "regard view ./vit --image photo.jpg --method attention,rollout,lrp",
    "regard view ./clip --text 'a dog on grass' --image dog.png",
    "regard view captioner --text '<image> : below-left' --image quadrants.png --generate 7",
    "regard view bilstm --text 'a good film' --changed 'a goood film' --view compare --svg clean-and-attacked.svg",
    "regard view bilstm --text 'a good film' --other planted:shortcut --view compare",
    "regard view minilm --spec edits.json --view compare --svg before-and-after.svg",
    "regard view RUN --example 17 --view token_text --svg -",
)
@click.argument("target", metavar="RUN|MODEL")
@click.option("--text")
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False))
@sound_option
@click.option("--pair")
@click.option("--changed", metavar="TEXT")
@click.option("--other", metavar="MODEL")
@click.option("--data")
@click.option("--row", type=int, default=0, show_default=True)
@click.option("--spec", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--generate", type=click.IntRange(min=1))
@click.option("--rows", metavar="ROWS")
@click.option("--method", default="attention,leave_one_out", show_default=True)
@click.option("--view", default="")
@click.option("--example")
@click.option("--site")
@click.option("--head", type=click.IntRange(0))
@click.option("-o", "--out", type=FILE)
@click.option("--html", type=FILE)
@click.option("--svg", type=FILE)
@click.option("--png", type=FILE)
@click.option("--pdf", type=FILE)
@click.option("--dark", is_flag=True)
@click.option("--width", type=click.IntRange(200, 10000), default=900, show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=0)
@click.option("--browser/--no-browser", default=True, show_default=True)
@click.option("--allow-host", multiple=True, metavar="HOST:PORT")
@click.option("--rationales", type=FILE)
@seed_option
@row_options
@recording_options
@row_labels_option
@model_options
def command(
    target: str,
    text: str | None,
    audio: Path | None,
    image: Path | None,
    pair: str | None,
    changed: str | None,
    other: str | None,
    data: str | None,
    row: int,
    spec: Path | None,
    generate: int | None,
    rows: str | None,
    method: str,
    view: str,
    example: str | None,
    site: str | None,
    head: int | None,
    out: Path | None,
    html: Path | None,
    svg: Path | None,
    png: Path | None,
    pdf: Path | None,
    dark: bool,
    width: int,
    port: int,
    browser: bool,
    allow_host: tuple[str, ...],
    rationales: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    methods = listed(method) or []
    if rows is not None and (image is not None or (Path(target) / "ledger.sqlite").is_file()):
        raise InputError(
            "--rows",
            expected=phrase("errors.cli.model_and_text"),
            got=phrase("errors.common.run") if image is None else phrase("errors.cli.image"),
        )
    checked_names("explainer", methods)
    files = [path for path in (out, html, svg, png, pdf) if path is not None]
    asks = any(given is not None for given in (text, image, audio, data, spec))
    from regard.live.session import Session
    from regard.present.messages.messages import language
    from regard.store.run import Run

    lang = language()
    if other is not None and (Path(target) / "ledger.sqlite").is_file():
        raise InputError(
            "--other",
            expected=phrase("errors.cli.model_to_compare"),
            got=phrase("errors.cli.run_target", target=target),
        )
    if changed is not None and not asks:
        raise InputError("--changed", expected=phrase("errors.cli.text_to_compare"), got=phrase("errors.common.none"))
    if image is not None and text is not None:
        with bar(remarks(), making=""):
            session = _pictured(target, text, image, generate, lang)
    elif (Path(target) / "ledger.sqlite").is_file():
        session = Session(
            run=Run(target),
            example=example,
            methods=methods,
            marks=rationales,
            lang=lang,
            seed=seed,
            allow_code=permitted("allow_code"),
        )
        if spec is not None:
            session.show_spec(_shared(spec))
        elif asks:
            session.show(
                one_example(text, pair, data, row, image=image, audio=audio), methods, changed=_version(changed)
            )
    else:
        if example is not None:
            raise InputError(
                "--example",
                expected=phrase("errors.common.run"),
                got=phrase("errors.common.model_target", target=target),
                remedy="--data NAME --row N",
            )
        if files and not asks:
            raise InputError(
                "input", expected=phrase("errors.cli.text_text_image_file_or_data"), got=phrase("errors.common.neither")
            )
        choice = ModelChoice.of_command(target)
        with bar(remarks(), making=choice.making):
            live = choice.open()
            others = () if other is None else (ModelChoice.of_command(other).open(),)
            session = Session(
                live,
                others=others,
                methods=methods,
                marks=rationales or Path("rationales.jsonl"),
                lang=lang,
                seed=seed,
                allow_code=permitted("allow_code"),
            )
            if spec is not None:
                session.show_spec(_shared(spec))
            elif generate is not None:
                session.show_generation(_begun(text, audio), generate, rows=new_rows(rows))
            elif rows is not None:
                session.show_rows(one_example(text, pair, data, row, audio=audio), typed_rows(rows))
            elif asks:
                _read(
                    session,
                    one_example(text, pair, data, row, image=image, audio=audio),
                    methods,
                    changed,
                    wait=bool(files) or site is not None or head is not None,
                )
    if data is not None or remembered("labels") is not None:
        for line in row_label_line(row_label(session.model)):
            remarks().print(line, markup=False)
    state = _state(session, site, head) if session.first is not None else {}
    view = view or ("image_overlay" if image is not None else "sound_overlay" if audio is not None else "")
    if files:
        _write(session, files, view=view, dark=dark, width=width, lang=lang, state=state, as_json=as_json)
    else:
        _serve(session, port, allow_host, browser=browser, as_json=as_json)


def _read(session: Session, example: Example, methods: list[str], changed: str | None, *, wait: bool) -> None:
    """Run an example; for the app, read a text while the page opens."""
    if wait or changed is not None or session.model.modality != "text":
        session.show(example, methods, changed=_version(changed))
    else:
        session.begin(example, methods)


def _shared(path: Path) -> object:
    from regard.files import read_json

    try:
        return read_json(path)
    except InputError as error:
        raise InputError(f"--spec {path}", expected=phrase("errors.cli.spec_json"), got=error.got) from error


def _pictured(target: str, text: str, image: Path, generate: int | None, lang: str) -> Session:
    """Open a text and an image in a vision-language model; generate tokens if requested."""
    from regard.live.image_text import read_picture, words_and_patches, written_words
    from regard.models.open.load import named_directory

    directory = named_directory(target)
    if generate is not None:
        pixels = read_picture(image)
        return written_words(directory, None, text, pixels, new_tokens=generate, lang=lang, name=target).session
    return words_and_patches(directory, None, text, read_picture(image), lang=lang).session


def _version(text: str | None) -> Example | None:
    from regard.records import Example

    return None if text is None else Example("changed", {"text": text})


def _begun(text: str | None, audio: Path | None) -> str | Example:
    if audio is not None:
        return one_example(text, None, None, 0, audio=audio)
    if text is None:
        raise InputError(
            "--generate", expected=phrase("errors.cli.text_text_continue_or_audio"), got=phrase("errors.common.none")
        )
    return text


def _state(session: Session, site: str | None, head: int | None) -> dict[str, Json]:
    """Return the initial viewer state."""
    entries = session.pack().manifest.examples
    state: dict[str, Json] = {}
    sites = entries[0].sites if entries else []
    index = len(sites) - 1
    if site is not None:
        index = next((i for i, s in enumerate(sites) if s.key == site or s.key.endswith(f".{site}")), -1)
        if index < 0:
            raise UnknownName("site", site, [s.key for s in sites])
        state["site"] = index
    if head is not None:
        if not sites or head >= sites[index].heads:
            raise InputError(
                f"--head {head}",
                expected=phrase("errors.cli.head_below", heads=sites[index].heads if sites else 0),
                got=str(head),
            )
        state |= {"head": head, "pool": "one", "off": [h for h in range(sites[index].heads) if h != head]}
    return state


def _write(session: Session, files: list[Path], *, as_json: bool, **how: Any) -> None:
    from regard.live.figures import svg, write_figure
    from regard.present.pack.build import BUDGET

    pack = session.packed(BUDGET)
    paths = []
    for path in files:
        if str(path) == "-":
            click.echo(as_references(svg(pack, how["view"], **{k: v for k, v in how.items() if k != "view"})))
            continue
        paths.append(write_figure(pack, path, how["view"], **{k: v for k, v in how.items() if k != "view"}))
    session.close()
    left_out = list(pack.manifest.left_out)
    if as_json:
        print_json({"files": [str(p) for p in paths], "bytes": [p.stat().st_size for p in paths], "left_out": left_out})
        return
    for path in paths:
        results().print(f"{path} ({path.stat().st_size / 1000:,.0f} kB)", markup=False, soft_wrap=True)
    for line in left_out:
        remarks().print(say("term.left_out", what=line), markup=False, style="yellow")


def _serve(session: Session, port: int, hosts: tuple[str, ...], *, browser: bool, as_json: bool) -> None:
    from regard.live.server import serve

    server = serve(session, port=port, hosts=hosts)
    if as_json:
        print_json({"url": server.url, "address": server.address, "port": server.port})
    else:
        results().print(say("term.view.at", url=server.url), markup=False, soft_wrap=True)
        results().print(say("term.view.only"), style="dim")
    if browser:
        webbrowser.open(server.url)
    server.wait()
