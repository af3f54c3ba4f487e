"""Chats in the forms that logs of chat services have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.datasets.chat_logs import read_chats
from regard.errors import InputError

MESSAGES = [{"role": "user", "content": "Where?"}]
CHOICES = [{"index": 0, "message": {"role": "assistant", "content": "Rome."}}]
FORMS: list[Any] = [
    {"messages": MESSAGES, "answer": "Rome."},
    {"messages": MESSAGES, "choices": CHOICES},
    {"request": {"model": "m", "messages": MESSAGES}, "response": {"choices": CHOICES}},
    {"custom_id": "1", "body": {"messages": MESSAGES}, "response": {"status_code": 200, "body": {"choices": CHOICES}}},
]


@pytest.mark.parametrize("record", FORMS)
def test_messages_and_answer_are_found(tmp_path: Path, record: Any) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(record), "utf-8")
    (chat,) = read_chats(path)
    assert (chat.messages, chat.answer, list(chat.documents)) == (MESSAGES, "Rome.", [])


def test_a_log_has_one_chat_per_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [*FORMS, MESSAGES])) + "\n\n", "utf-8")
    chats = read_chats(path)
    assert [chat.answer for chat in chats] == ["Rome."] * 4 + [None]
    assert chats[4].name == "log.jsonl, line 5"


@pytest.mark.parametrize("content", ["", "{}", "3", '{"messages": 3}', "{oops", '{"messages": [], "documents": 3}'])
def test_odd_records_are_refused_with_their_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"log\.jsonl"):
        read_chats(path)
