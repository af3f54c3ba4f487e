"""Registry of methods: each file in a method package is a method, and its file name is its public name.

    @explainer(needs=("attention",), cite="Abnar & Zuidema 2020")
    def rollout(case: Case, *, residual: float = 0.5) -> Relevance: ...

Nothing is listed by hand: `catalogue.json` is generated from the code (`make catalogue`), so that names,
parameters and near misses are known without importing torch. Outsiders register by entry point
(group `regard.explainers`, ...) with the same decorator.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import inspect
import json
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from regard.errors import EnvironmentProblem, InputError, UnknownName, phrase
from regard.foreign_code import contained
from regard.message import Message, Text
from regard.method_facts import EVERY as EVERY
from regard.method_facts import FAMILIES as FAMILIES
from regard.method_facts import HEADLINE as HEADLINE
from regard.method_facts import THOROUGH as THOROUGH
from regard.method_facts import Attack as Attack
from regard.method_facts import Citer as Citer
from regard.method_facts import Engine as Engine
from regard.method_facts import Experiment as Experiment
from regard.method_facts import Explainer as Explainer
from regard.method_facts import Head as Head
from regard.method_facts import InProfile as InProfile
from regard.method_facts import Metric as Metric
from regard.method_facts import Perturbation as Perturbation
from regard.method_facts import Profiles as Profiles
from regard.method_facts import Question as Question
from regard.method_facts import ScoreFunction as ScoreFunction
from regard.records import Json, Spec
from regard.trust import refuse_stored

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

ROOMS: Mapping[str, str] = {
    "explainer": "regard.explainers",
    "metric": "regard.metrics",
    "head": "regard.head_scores",
    "dataset": "regard.datasets.builtin",
    "source": "regard.sources",
    "learner": "regard.training.learners",
    "term": "regard.training.terms",
    "engine": "regard.audits.engines",
    "planted": "regard.planted",
    "experiment": "regard.experiments",
    "attack": "regard.attacks",
    "citer": "regard.citers",
    "perturbation": "regard.perturbations",
    "recipe": "regard.improve.recipes",
    "score": "regard.networks.scores",
    "question": "regard.judge",
    "language": "regard.present.messages.languages",
}
"""Kind of method -> the package that holds one file for each."""
GATHERED = ("score", "question", "planted")
"""Kinds whose files also hold other code, or several methods."""

SHELVES: Mapping[str, tuple[str, ...]] = {"perturbation": ("text", "image", "audio", "series", "table")}
"""Kinds with so many methods that they are grouped in subpackages, one per modality."""

UPSTAIRS: Mapping[str, str] = {
    "show": "regard.live.show",
    "render": "regard.present.messages.messages",
    "citations_page": "regard.present.report.citations_page",
    "atlas_page": "regard.present.report.atlas_page",
    "write_alignment_page": "regard.present.report.alignment_page",
    "answer_audit_page": "regard.present.report.answer_audit_page",
    "explained_html": "regard.present.report.notebook_html",
    "run_html": "regard.present.report.notebook_html",
    "judgements_html": "regard.present.report.notebook_html",
    "card_html": "regard.present.report.notebook_html",
    "card_text": "regard.present.card_text",
    "explained_text": "regard.present.card_text",
    "judgements_text": "regard.present.card_text",
    "run_verdict": "regard.present.card_text",
    "to_mlflow": "regard.present.mlflow_export",
}
"""Function -> the module of a higher layer that holds it, for methods of objects in lower layers (`capture.show()`)."""

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__regard__"
_CODE = "__regard_code__"


@dataclass(frozen=True, slots=True)
class NamedBy:
    """Annotates a parameter whose value is the name of a method of that kind: `Annotated[str, NamedBy("score")]`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    default: Json
    choices: tuple[Json, ...] = ()
    kind: str = ""
    """Kind of method whose names are the values."""

    @property
    def values(self) -> tuple[Json, ...]:
        """Values that the parameter may take, if they can be listed."""
        return tuple(names(self.kind)) if self.kind else self.choices


@dataclass(frozen=True, slots=True)
class Entry:
    """Facts about one method, available without importing it."""

    kind: str
    name: str
    module: str
    summary: str
    parameters: tuple[Parameter, ...]
    facts: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "name": self.name,
            "module": self.module,
            "summary": self.summary,
            "parameters": [
                {"name": p.name, "type": p.type, "default": p.default, "choices": [*p.choices], "kind": p.kind}
                for p in self.parameters
            ],
            "facts": dict(self.facts),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Entry:
        parameters = tuple(
            Parameter(p["name"], p["type"], p["default"], tuple(p["choices"]), p.get("kind", ""))
            for p in value["parameters"]
        )
        return Entry(value["kind"], value["name"], value["module"], value["summary"], parameters, value["facts"])


def method(kind: str, **facts: Json) -> Callable[[F], F]:
    """Register a function as a method of a kind; return it unchanged. The named decorators below set the kind."""

    def mark(function: F) -> F:
        if kind == "question":
            _check_family(function, facts)
        setattr(function, _MARK, (kind, facts))
        if not function.__module__.startswith("regard."):
            _IN_PROCESS[kind, function.__name__] = function
        return function

    return mark


def _check_family(function: Callable[..., Any], facts: Mapping[str, Json]) -> None:
    """Refuse a question inside the judge without a known family: the judge asks its own questions by family."""
    family = str(facts.get("family", ""))
    if not function.__module__.startswith(f"{ROOMS['question']}.") or family in FAMILIES:
        return
    known = ", ".join(f'family="{name}"' for name in FAMILIES)
    raise InputError(
        phrase("errors.registry.question_of_judge", name=function.__name__),
        expected=phrase("errors.registry.family_of_corrected_questions"),
        got=repr(family),
        remedy=phrase("errors.registry.state_family", families=known),
    )


_IN_PROCESS: dict[tuple[str, str], Callable[..., Any]] = {}
"""Methods decorated in this process outside of regard: found by name, not listed."""


def in_process(kind: str) -> list[str]:
    """Return the names of methods of a kind that were decorated in this process outside of regard."""
    return sorted(name for known, name in _IN_PROCESS if known == kind and name not in names(kind))


def method_spec(function: Callable[..., Any]) -> Spec:
    """Return the Spec of a decorated function, which then works by its name in this process.

    Raises if it is not decorated, or has the name of one of ours.
    """
    kind, name = marked_kind(function), getattr(function, "__name__", repr(function))
    if not kind:
        raise InputError(
            phrase("errors.common.method_name", name=name),
            expected=phrase("errors.registry.function_decorated_with_explainer"),
            got=phrase("errors.common.none"),
        )
    if name not in _shipped()[kind]:
        _IN_PROCESS[kind, name] = function
    elif find(kind, name) is not function:
        raise InputError(
            f"{kind} {name}", expected=phrase("errors.registry.name_own"), got=phrase("errors.registry.name_one_regard")
        )
    return Spec(kind, name)


def names_code(*parameters: str) -> Callable[[F], F]:
    """Declare the parameters of a method that name code to run, beside the decorator of its kind.

    A run, a Spec or a template that somebody shared may not set them (see `trust`).
    """

    def mark(function: F) -> F:
        setattr(function, _CODE, parameters)
        return function

    return mark


P = ParamSpec("P")


def _decorator(kind: str, facts: Callable[P, Any]) -> Callable[P, Callable[[F], F]]:
    """Build the decorator of a kind; its arguments are the fields of `facts`, a record about the method."""

    def decorate(*arguments: P.args, **keywords: P.kwargs) -> Callable[[F], F]:
        return method(kind, **_json(asdict(facts(*arguments, **keywords))))

    return decorate


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _json(part) for name, part in value.items()}
    return [_json(part) for part in value] if isinstance(value, tuple) else value


explainer = _decorator("explainer", Explainer)
metric = _decorator("metric", Metric)
head = _decorator("head", Head)
experiment = _decorator("experiment", Experiment)
perturbation = _decorator("perturbation", Perturbation)
attack = _decorator("attack", Attack)
citer = _decorator("citer", Citer)
engine = _decorator("engine", Engine)
score = _decorator("score", ScoreFunction)
question = _decorator("question", Question)


def describe(function: Callable[..., Any]) -> Entry:
    """Return the entry of a decorated function; raise if it breaks the rules for methods."""
    if not hasattr(function, _MARK):
        raise InputError(
            phrase("errors.common.function_spec", spec=function.__name__),
            expected=phrase("errors.registry.method_decorated_with_kind"),
            got=phrase("errors.common.none"),
        )
    kind, facts = getattr(function, _MARK)
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if p.default is inspect.Parameter.empty:
            raise InputError(
                f"{kind} {function.__name__}",
                expected=phrase("errors.registry.default_missing", p=p.name),
                got=phrase("errors.common.none"),
            )
        name, choices = _type_name(hints[p.name])
        default = list(p.default) if isinstance(p.default, tuple) else p.default
        named_by = next((part.kind for part in getattr(hints[p.name], "__metadata__", ())), "")
        parameters.append(Parameter(p.name, name, default, choices, named_by))
    doc = inspect.getdoc(function) or ""
    code = getattr(function, _CODE, ())
    unknown = set(code) - {p.name for p in parameters}
    if unknown:
        raise UnknownName(
            phrase("errors.registry.parameter_that_names_code", function=function.__name__),
            min(unknown),
            (p.name for p in parameters),
        )
    facts = {**facts, "code": list(code)} if code else facts
    return Entry(kind, function.__name__, function.__module__, doc.strip().split("\n", 1)[0], tuple(parameters), facts)


def _type_name(hint: Any) -> tuple[str, tuple[Json, ...]]:
    if typing.get_origin(hint) is typing.Annotated:
        return _type_name(typing.get_args(hint)[0])
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        return type(choices[0]).__name__, tuple(choices)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = typing.get_args(hint)
        named = "|".join(_type_name(a)[0] for a in members if a is not type(None))
        return named + ("?" if type(None) in members else ""), ()
    if typing.get_origin(hint) is tuple:
        return "list", ()
    return getattr(hint, "__name__", str(hint)), ()


@cache
def _shipped() -> Mapping[str, Mapping[str, Entry]]:
    text = importlib.resources.files("regard").joinpath("catalogue.json").read_text("utf-8")
    book: dict[str, dict[str, Entry]] = {kind: {} for kind in ROOMS}
    for value in json.loads(text):
        entry = Entry.from_json(value)
        book[entry.kind][entry.name] = entry
    return book


@cache
def _outsiders(kind: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    return {e.name: e for e in importlib.metadata.entry_points(group=f"regard.{kind}s")}


def names(kind: str) -> list[str]:
    """List every public name of a kind, including those of other packages; import none of them."""
    if kind not in ROOMS:
        raise UnknownName("kind", kind, ROOMS)
    return sorted({*_shipped()[kind], *_outsiders(kind)})


def named_model(text: str) -> Spec | None:
    """Return the Spec behind the name of a model; None for a path, an id or an unknown name.

    >>> named_model("bilstm:epochs=2"), named_model("./my-model")
    (Spec(kind='source', name='bilstm', params=mappingproxy({'epochs': 2})), None)
    >>> named_model("planted:one_key").name
    'one_key'
    """
    name, _, rest = text.partition(":")
    if name == "planted" and rest:
        return Spec.parse("planted", rest)
    return Spec.parse("source", text) if name in names("source") else None


def owner(kind: str, name: str) -> str:
    """Return the package and version that a method comes from; "" for our own."""
    if name in _shipped()[kind] or name not in _outsiders(kind):
        return ""
    dist = _outsiders(kind)[name].dist
    return f"{dist.name} {dist.version}" if dist else _outsiders(kind)[name].value


def entry(kind: str, name: str) -> Entry:
    """Return the facts about one method: ours from the catalogue, others by importing their file."""
    if name not in names(kind) and (kind, name) not in _IN_PROCESS:
        raise UnknownName(kind, name, names(kind))
    if name in _shipped()[kind]:
        return _shipped()[kind][name]
    return language_entry(name) if kind == "language" else describe(find(kind, name))


def fact_text(kind: str, name: str, fact: str) -> Text:
    """Return a fact of a method in words: a message for ours, the author's words for others; "" for none.

    >>> fact_text("experiment", "seed_variance", "cost").key
    'cost.experiment.seed_variance'
    """
    text = str(entry(kind, name).facts.get(fact) or "")
    return Message(f"{fact}.{kind}.{name}") if text and name in _shipped()[kind] else text


def language_file(name: str) -> Traversable:
    """Return the catalogue NAME.toml of a language: ours, or in the package that the entry point NAME points at."""
    return importlib.resources.files(_language_package(name)) / f"{name}.toml"


def _language_package(name: str) -> str:
    package = ROOMS["language"]
    if f"{name}.toml" in {file.name for file in importlib.resources.files(package).iterdir()}:
        return package
    if name not in _outsiders("language"):
        raise UnknownName("language", name, names("language"))
    return _outsiders("language")[name].value


def language_entry(name: str) -> Entry:
    """Return the self-description of a catalogue: `[language]` with its own `name` and its code in `html`."""
    about = tomllib.loads(language_file(name).read_text("utf-8"))["language"]
    return Entry("language", name, _language_package(name), about["name"], (), {"html": about["html"]})


def marked_kind(thing: object) -> str:
    """Return the kind that an object is decorated as; "" for anything else."""
    return str(getattr(thing, _MARK, ("",))[0])


def code_parameters(kind: str, name: str) -> tuple[str, ...]:
    """Return the parameters of a method that name code; none for an unknown method.

    >>> code_parameters("explainer", "given"), code_parameters("explainer", "rollout")
    (('function',), ())
    """
    if kind not in ROOMS or name not in names(kind):
        return ()
    code = entry(kind, name).facts.get("code")
    return tuple(map(str, code)) if isinstance(code, list) else ()


def kinds_of(name: str) -> list[str]:
    """Return the kinds that have a method of this name."""
    return [kind for kind in ROOMS if name in names(kind)]


def find(kind: str, name: str) -> Callable[..., Any]:
    """Return the function of a method; import its one file."""
    if name not in names(kind) and (kind, name) not in _IN_PROCESS:
        raise UnknownName(kind, name, names(kind))
    if name in _shipped()[kind]:
        function = getattr(importlib.import_module(_shipped()[kind][name].module), name)
    elif name in _outsiders(kind):
        function = _loaded(kind, _outsiders(kind)[name])
    else:
        function = _IN_PROCESS[kind, name]
    mark = getattr(function, _MARK, None)
    if mark is None or mark[0] != kind:
        got = (
            phrase("errors.registry.one_decorated", mark=mark[0])
            if mark
            else phrase("errors.registry.one_without")
            if callable(function)
            else repr(function)
        )
        raise InputError(
            f"{kind} {name!r}", expected=phrase("errors.registry.function_decorated_with_kind", kind=kind), got=got
        )
    if function.__name__ != name:
        raise InputError(
            f"{kind} {name!r}",
            expected=phrase("errors.registry.function_that_name"),
            got=function.__name__,
            remedy=phrase("errors.registry.name_entry_point_like_function"),
        )
    return typing.cast("Callable[..., Any]", function)


def _loaded(kind: str, point: importlib.metadata.EntryPoint) -> Any:
    """Load the object of an entry point; an error names the package that failed."""
    owner = point.dist.name if point.dist else point.value
    with contained(
        phrase("errors.registry.method_of_package", noun=kind, name=repr(point.name), package=owner),
        expected=phrase("errors.registry.importable_entry_point", point=point.value),
        remedy=phrase("errors.registry.fix_or_uninstall", package=owner),
        kind=EnvironmentProblem,
    ):
        function = point.load()
    _IN_PROCESS.pop((kind, point.name), None)  # a method of an installed package, not of this process
    return function


def build(spec: Spec) -> Callable[..., Any]:
    """Return the function of a Spec with its parameters bound; refuse unknown or ill-typed parameters.

    >>> build(Spec("explainer", "random", {"sed": 1}))
    Traceback (most recent call last):
    ...
    regard.errors.UnknownName: ...
    """
    bound = arguments(spec)
    function = find(spec.kind, spec.name)
    package = owner(spec.kind, spec.name)

    def call(*given: Any) -> Any:
        refuse_stored(spec)
        if not package:
            return function(*given, **bound)
        subject = phrase("errors.registry.method_of_package", noun=spec.kind, name=repr(spec.name), package=package)
        with contained(subject, expected=phrase("errors.registry.result"), crashes=False):
            return function(*given, **bound)

    return call


def upstairs(name: str) -> Callable[..., Any]:
    """Look up a function of a higher layer by name, at call time, so that static imports only go down."""
    if name not in UPSTAIRS:
        raise UnknownName("function", name, UPSTAIRS)
    function: Callable[..., Any] = getattr(importlib.import_module(UPSTAIRS[name]), name)
    return function


def arguments(spec: Spec) -> dict[str, Any]:
    """Return the parameters of a Spec as checked function arguments, without importing a method of ours."""
    parameters = {p.name: p for p in entry(spec.kind, spec.name).parameters}
    bound: dict[str, Any] = {}
    for key, value in spec.params.items():
        if key not in parameters:
            raise UnknownName(phrase("errors.registry.parameter_spec", spec=spec.name), key, parameters)
        bound[key] = _checked(spec, parameters[key], value)
    return bound


def _checked(spec: Spec, parameter: Parameter, value: Json) -> Any:
    kinds = parameter.type.rstrip("?").split("|")
    if value is None and parameter.type.endswith("?"):
        return None
    if parameter.values and value not in parameter.values:
        raise UnknownName(
            phrase("errors.registry.value_spec", spec=spec.name, parameter=parameter.name),
            str(value),
            map(str, parameter.values),
        )
    wanted: dict[str, tuple[type, ...]] = {
        "float": (int, float),
        "int": (int,),
        "bool": (bool,),
        "str": (str,),
        "list": (list, tuple),
    }
    known = [wanted[kind] for kind in kinds if kind in wanted]
    fits = any(isinstance(value, types_) and (bool in types_ or not isinstance(value, bool)) for types_ in known)
    if known and not fits:
        raise InputError(f"{spec.name}.{parameter.name}", expected=" or ".join(kinds), got=repr(value))
    return tuple(value) if isinstance(value, list) else value
