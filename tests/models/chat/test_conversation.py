"""Prompts: where message texts stand in the rendered text, whatever the chat template does with them."""

from __future__ import annotations

from typing import Any

import pytest
import transformers

from regard.errors import InputError, Unsupported
from regard.models.chat.conversation import Conversation, conversation, plain_text, rendered
from regard.testing.copier import copier

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "  Anna lives in Rome.\n\nWhere?  "},
]
LOOP = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}\n{% endfor %}"
TEMPLATES = {
    "plain": LOOP,
    "trims": LOOP.replace("m['content']", "m['content'] | trim"),
    "reverses": LOOP.replace("in messages", "in messages | reverse"),
    "repeats": LOOP + "Again: {{ messages[-1]['content'] }}",
    "merges": "<s>[INST] {{ messages[0]['content'] }}\n\n{{ messages[1]['content'] | trim }} [/INST]",
}


def tokenizer_with(template: str | None) -> Any:
    _, tokenizer = copier(["Rome"], ["Anna"])
    tokenizer.chat_template = template
    return tokenizer


def conversation_with(template: str, messages: Any = MESSAGES, documents: Any = ()) -> Conversation:
    return conversation(tokenizer_with(template), messages, documents, name="tiny")


@pytest.mark.parametrize("name", TEMPLATES)
def test_spans_are_found_in_the_rendered_text(name: str) -> None:
    page = rendered(conversation_with(TEMPLATES[name]))
    start = MESSAGES[1]["content"].find("Anna")
    places = page.spans((1, start, start + 19))
    assert len(places) == (2 if name == "repeats" else 1)
    assert {page.text[a:b] for a, b in places} == {"Anna lives in Rome."}
    assert [page.text[a:b] for a, b in page.spans((0, 3, 9))] == ["brief."]


def test_equal_messages_keep_their_own_places() -> None:
    turns = [{"role": "user", "content": "Yes"}, {"role": "assistant", "content": "Yes"}]
    page = rendered(conversation_with(TEMPLATES["reverses"], turns))
    (first,), (second,) = page.spans((0, 0, 3)), page.spans((1, 0, 3))
    assert page.text[: first[0]].endswith("[user]")
    assert page.text[: second[0]].endswith("[assistant]")


def test_a_template_that_rewrites_texts_finds_what_stands_there_once() -> None:
    shouting = LOOP.replace("m['content']", "(m['content'] | upper if m['role'] == 'system' else m['content'])")
    page = rendered(conversation_with(shouting))
    assert page.spans((0, 0, 9)) == []
    assert [page.text[a:b] for a, b in page.spans((1, 2, 6))] == ["Anna"]


def test_documents_are_fields_and_vanish_when_deleted() -> None:
    template = "{% for d in documents %}({{ d['title'] }}: {{ d['text'] }}){% endfor %}" + LOOP
    documents = [{"title": "a", "text": "One."}, {"title": "b", "content": "Two."}]
    prompt = conversation_with(template, MESSAGES, documents)
    page = rendered(prompt)
    assert [page.text[a:b] for a, b in page.spans((3, 0, 4))] == ["Two."]
    shorter = prompt.without([(2, 0, 4)])
    assert shorter.render(shorter.fields).startswith("(b: Two.)[system]")


def test_an_emptied_message_vanishes_where_the_template_allows_it() -> None:
    turns = [{"role": r, "content": c} for r, c in (("user", "2 + 2?"), ("assistant", "4"), ("user", "3 + 4?"))]
    prompt = conversation_with(LOOP, turns)
    shorter = prompt.without([(0, 0, 6), (1, 0, 1)])
    assert shorter.render(shorter.fields) == "[user]3 + 4?\n"
    refusal = "{% if messages[0]['role'] != 'user' %}{{ raise_exception('no') }}{% endif %}"
    strict = refusal + LOOP
    shorter = conversation_with(strict, turns).without([(0, 0, 6)])
    assert shorter.render(shorter.fields).startswith("[user]\n[assistant]4")  # the template wants it


def test_deleting_a_listed_line_deletes_the_line() -> None:
    prompt = plain_text("Notes:\n- one\n- two\n\nWhich?")
    assert prompt.without([(0, 9, 12)]).fields == ("Notes:\n- two\n\nWhich?",)
    assert prompt.without([(0, 9, 12), (0, 15, 18)]).fields == ("Notes:\n\nWhich?",)


def test_text_parts_are_joined_and_pictures_refused() -> None:
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}]
    assert conversation_with(LOOP, parts).fields == ("AB",)
    parts[0]["content"].append({"type": "image_url"})
    with pytest.raises(Unsupported, match="image_url"):
        conversation_with(LOOP, parts)


@pytest.mark.parametrize("messages", [[], {"role": "user"}, ["text"], [{"content": "no role"}], [{"role": "user"}]])
def test_odd_messages_are_refused(messages: Any) -> None:
    with pytest.raises(InputError):
        conversation_with(LOOP, messages)


def test_refusals_of_the_template_are_reported() -> None:
    with pytest.raises(InputError, match="must alternate"):
        rendered(conversation_with("{{ raise_exception('roles must alternate') }}"))


def test_a_tokenizer_without_template_is_refused_with_the_alternative() -> None:
    with pytest.raises(Unsupported, match="plain prompt"):
        conversation(tokenizer_with(None), MESSAGES, name="tiny")
    with pytest.raises(InputError):
        plain_text("  \n")


def test_markers_inside_a_message_do_no_harm() -> None:
    turns = [{"role": "user", "content": "odd \ue0000\ue001 text"}]
    page = rendered(conversation_with(LOOP, turns))
    assert [page.text[a:b] for a, b in page.spans((0, 0, 3))] == ["odd"]


def test_oracle_template_is_the_tokenizers_own() -> None:
    tokenizer: Any = tokenizer_with(LOOP)
    assert isinstance(tokenizer, transformers.PreTrainedTokenizerFast)
    expected = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert rendered(conversation_with(LOOP)).text == expected
