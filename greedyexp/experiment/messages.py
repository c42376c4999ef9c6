"""Error messages for values: plain sentences from pydantic's errors."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic_core import PydanticCustomError

from greedyexp.core.errors import did_you_mean
from greedyexp.core.listing import listed, shortened
from greedyexp.core.yaml_text import Keys as Keys

Error = Mapping[str, Any]
# The keys that lead to a mistake, the message and the remedy.
Mistake = tuple[Keys, str, str]

# Maximum number of values in a message.
_LISTED = 12

SLUG = "^[A-Za-z0-9_-]+$"

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "none": "empty",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}


def dotted(keys: Keys) -> str:
    """Return ``data.sweep.p[0]`` for ``("data", "sweep", "p", 0)``."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def show(value: Any) -> str:
    """Return a value as a user would write it, shortened."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = f"'{value}'" if value.isprintable() else repr(value)
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join(show(item) for item in value)}]"
    elif isinstance(value, dict):
        text = f"{{{', '.join(f'{key}: {show(item)}' for key, item in value.items())}}}"
    else:
        text = repr(value)
    return shortened(text, 60)


def listing(values: Iterable[Any], wanted: Any = None) -> str:
    """Return a remedy with the possible values or, if they are many numbers, the nearest one."""
    known = list({show(value): value for value in values}.items())
    numbers = [value for _, value in known if isinstance(value, (int, float))]
    if len(known) > _LISTED and isinstance(wanted, (int, float)) and numbers:
        return f"The nearest is {show(min(numbers, key=lambda value: abs(value - wanted)))}."
    return f"It takes: {listed([text for text, _ in known], _LISTED)}." if known else ""


def messages(errors: Iterable[Error], value: Any, name: str, model: Any = None) -> list[Mistake]:
    """Return the errors of a value, one message for each wrong place in it.

    Parameters
    ----------
    errors : iterable of mapping
        ``ValidationError.errors()``.
    value : object
        The plain data that were validated.
    name : str
        Name of the value; empty if its keys identify it.
    model : type, optional
        The type of the value, whose keys are suggested for unknown ones.

    Returns
    -------
    list of (keys, message, remedy)
        Key path of the error inside the value.
    """
    grouped: dict[Keys, list[Error]] = {}
    unknown: list[Mistake] = []
    result, mistaken = [], []
    for error in errors:
        keys, last = _inside(value, error), error["loc"][-1] if error["loc"] else None
        if error["type"] == "missing" and isinstance(last, str):
            result.append((keys, f"'{last}' is missing.", ""))
            mistaken.append((*keys, last))
        elif error["type"] == "extra_forbidden":
            unknown.append((keys, *unknown_key(last, _fields(model, keys[:-1]))))
            mistaken.append(keys)
        else:
            grouped.setdefault(keys, []).append(error)
    # A union reports errors for every member. The user probably meant the member whose errors are
    # deepest in the value.
    mistaken += grouped
    deepest = [keys for keys in grouped if not any(_starts(other, keys) for other in mistaken)]
    result += [(keys, *_sentence(grouped[keys], _at(value, keys), name, keys)) for keys in deepest]
    # A misspelt key may be the one that is missing.
    return unknown + result


def unknown_key(key: Any, known: Iterable[str]) -> tuple[str, str]:
    """Return message and remedy for a key that a mapping cannot have."""
    names = list(known)
    remedy = did_you_mean(str(key), names) if names else ""
    if str(key).count("(") != str(key).count(")"):
        # Inside {...} YAML ends an unquoted text at a comma.
        remedy = "Put a text with a comma in quotes."
    return f"unknown key '{key}'.", remedy


def _fields(kind: Any, keys: Keys) -> Iterable[str]:
    """Return the keys of the model at a key path in a type; none if there is no model."""
    models = _models(kind)
    for key in keys:
        found = [model.model_fields[key] for model in models if key in model.model_fields]
        # A key of a plain mapping leads to one of the same models.
        models = _models(found[0].annotation) if found else models
    return models[0].model_fields if models else ()


def _models(kind: Any) -> list[Any]:
    """Return the models in a type such as ``list[str] | dict[str, Model]``."""
    inner = [model for one in get_args(kind) for model in _models(one)]
    return [kind] if hasattr(kind, "model_fields") else inner


def below(keys: Keys, mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Yield mistakes with ``keys`` placed before their own keys."""
    for inner, message, remedy in mistakes:
        yield (*keys, *inner), message, remedy


def subject_of(name: str, keys: Keys) -> str:
    """Return the name of the place that the keys lead to, such as ``item 2 of w``."""
    subject = name
    for key in keys:
        subject = f"item {key + 1} of {subject}" if isinstance(key, int) else str(key)
    return subject


def _starts(longer: Keys, shorter: Keys) -> bool:
    return len(longer) > len(shorter) and longer[: len(shorter)] == shorter


def _inside(value: Any, error: Error) -> Keys:
    """Return the location of an error in the value, without the labels of unions."""
    keys: Keys = ()
    for step in error["loc"]:
        if step in _steps(value):
            value = value[step]
            keys = (*keys, step)
    return keys


def _steps(value: Any) -> Container[Any]:
    """Return the keys of a mapping or the indices of a list."""
    if isinstance(value, dict):
        return value
    return range(len(value)) if isinstance(value, list) else ()


def _at(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value[key]
    return value


def refusal(message: str, remedy: str) -> PydanticCustomError:
    """Return an error for a validator, with a remedy for the user."""
    return PydanticCustomError("refused", "{message}", {"message": message, "remedy": remedy})


def _sentence(errors: list[Error], value: Any, name: str, keys: Keys) -> tuple[str, str]:
    subject = subject_of(name, keys)
    if any(error["type"] == "missing" for error in errors):
        return f"{subject} has too few items.", ""
    for error in errors:
        # The message of a part needs no further words.
        if error["type"] == "refused":
            return error["ctx"]["message"], error["ctx"]["remedy"]
    bounded = [error for error in errors if error["type"] in _BOUNDS]
    expected = list(dict.fromkeys(_expectation(error) for error in bounded or errors))
    allowed = [word for error in errors for word in _words(error)]
    remedy = did_you_mean(value, allowed) if isinstance(value, str) and allowed else ""
    if remedy.startswith("Known"):
        remedy = ""
    return f"{subject} must be {' or '.join(expected)}, but is {show(value)}.", remedy


def _expectation(error: Error) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{words} {context[key]:g}"
    if kind in ("literal_error", "enum"):
        words = context["expected"]
        return f"one of {words}" if " or " in words else words
    if kind.endswith(("too_short", "too_long")):
        few = kind.endswith("short")
        count = context["min_length" if few else "max_length"]
        whole, unit = ("a text", "character") if "string" in kind else ("a list", "item")
        plural = "" if count == 1 else "s"
        return f"{whole} of at {'least' if few else 'most'} {count} {unit}{plural}"
    if kind == "string_pattern_mismatch":
        if context["pattern"] == SLUG:
            return "made of letters, digits, '-' and '_' only"
        return f"a text that matches {context['pattern']}"
    stem = kind.removesuffix("_type").removesuffix("_required").removesuffix("_from_float")
    if stem in _EXPECTED:
        return _EXPECTED[stem]
    return f"valid ({error['msg'].removeprefix('Value error, ').rstrip('.')})"


def _words(error: Error) -> list[str]:
    if error["type"] not in ("literal_error", "enum"):
        return []
    return re.findall(r"'([^']*)'", error["ctx"]["expected"])
