from __future__ import annotations

import pickle

import pytest

from regard import errors
from regard.errors import EXIT_CODES, InputError, RegardError, UnknownName


def everything(kind: type[RegardError]) -> list[type[RegardError]]:
    return [kind, *(k for sub in kind.__subclasses__() for k in everything(sub))]


@pytest.mark.parametrize("kind", everything(RegardError), ids=lambda k: k.__name__)
def test_every_error_has_a_known_exit_code_and_stands_in_the_tree(kind: type[RegardError]) -> None:
    assert kind.exit_code in EXIT_CODES
    assert kind.exit_code not in (0, 130)
    assert kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("x"), "x"),
        (InputError("x", expected="a"), "x: expected a"),
        (InputError("x", got="b"), "x: got b"),
        (InputError("x", expected="a", got="b", remedy="c"), "x: expected a; got b. Try: c"),
        (UnknownName("explainer", "atention", ["attention", "random"]), "Try: attention"),
        (UnknownName("explainer", "zzz", ["attention", "random"]), "Try: one of attention, random"),
        (UnknownName("explainer", "zzz", []), "explainer 'zzz': expected a known name; got no such explainer"),
    ],
)
def test_messages(error: RegardError, text: str) -> None:
    assert str(error).endswith(text)


@pytest.mark.parametrize("error", [InputError("x", expected="a", got="b", remedy="c"), UnknownName("k", "n", ["m"])])
def test_errors_travel_between_processes(error: RegardError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
