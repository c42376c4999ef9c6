"""A JSON Schema of experiment files, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from greedyexp.config.patches import CHANGEABLE
from greedyexp.core.part import Part
from greedyexp.core.parts import Algorithm
from greedyexp.core.registry import parts
from greedyexp.experiment.own_keys import OWN_KEYS
from greedyexp.experiment.settings import PROFILES, Settings

Schema = dict[str, Any]

_RANGE: Schema = {
    "type": "object",
    "description": "Evenly spaced values, both ends included.",
    "properties": {
        "from": {"type": "number", "description": "First value."},
        "to": {"type": "number", "description": "Last value."},
        "num": {"type": "integer", "minimum": 1, "description": "Number of values."},
        "step": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Distance between values.",
        },
        "scale": {
            "enum": ["linear", "log"],
            "default": "linear",
            "description": "Whether differences or ratios of neighbours are equal.",
        },
    },
    "required": ["from", "to"],
    "oneOf": [{"required": ["num"]}, {"required": ["step"]}],
    "additionalProperties": False,
}
_GENERATOR = "Generator of the data, which determines the other keys."
_TEMPLATE = "#/$defs/{model}"


class _Plain(GenerateJsonSchema):
    """The same schemas for all versions of pydantic, without titles.

    Editors would show titles, such as ``N Lams``, as headings.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> Schema:
        made = super().model_schema(schema)
        made.pop("title", None)
        return made

    def dict_schema(self, schema: Any) -> Schema:
        made = super().dict_schema(schema)
        if made.get("additionalProperties") is True:
            del made["additionalProperties"]
        return made


def _of_model(model: type[BaseModel], ref_template: str = _TEMPLATE) -> Schema:
    return model.model_json_schema(ref_template=ref_template, schema_generator=_Plain)


def json_schema() -> Schema:
    """Return the schema (draft 2020-12) of an experiment file with the parts registered now.

    The parameters of data depend on the generator, and those of other parts on the name of the
    part. The schema has the type, range, default and description of each parameter, and allows
    sweeps.

    Returns
    -------
    dict
        Plain data for ``json.dumps``.
    """
    defs: Schema = {"range": _RANGE}
    settings = _of_model(Settings)
    defs |= settings.pop("$defs", {})
    properties: Schema = settings["properties"]
    generators = parts("generator")
    for part in generators.values():
        _define_generator(part, defs)
    names = {"enum": list(generators), "description": _GENERATOR}
    block = _object({"generator": names}, required=["generator"])
    made = [{"if": _made_by(name), "then": _ref(f"block.{name}")} for name in generators]
    listed = {"allOf": made}
    defs["blocks"] = {"type": "array", "items": block | listed, "minItems": 1}
    properties["data"] = {
        "description": properties["data"]["description"],
        "anyOf": [block, _ref("blocks")],
    }
    protocol = properties["protocol"]
    properties["protocol"] = {key: protocol[key] for key in ("description", "default")}
    properties["protocol"] |= _entries("protocol", defs)
    properties["metrics"]["items"] = _choice("metric")
    for kind in ("algorithm", "figure", "table"):
        properties[f"{kind}s"]["items"] = _entries(kind, defs)
    changed = "Parameters of the data that the profile changes, or other blocks."
    any_data = {"description": changed, "anyOf": [{"type": "object"}, _ref("blocks")]}
    changeable = {key: properties[key] for key in CHANGEABLE} | {"data": any_data}
    defs["profile"] = _object(changeable, closed=True) | {"type": ["object", "null"]}
    profiles = {name: _ref("profile") for name in PROFILES}
    described = {"description": properties["profiles"]["description"]}
    properties["profiles"] = described | _object(profiles, closed=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "greedyexp experiment",
        **_object(properties, required=settings["required"], closed=True),
        "allOf": [*map(_data_of, generators), _metrics_as_needed()],
        "$defs": defs,
    }


def _ref(name: str, key: str = "") -> Schema:
    """Return a reference to a definition, or to one of its properties."""
    return {"$ref": f"#/$defs/{name}" + (f"/properties/{key}" if key else "")}


def _object(
    properties: Schema, *, required: list[str] | None = None, closed: bool = False
) -> Schema:
    """Return the schema of a mapping; a closed mapping allows no other keys."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if closed:
        schema["additionalProperties"] = False
    return schema


def _metrics_as_needed() -> Schema:
    """Require at least one metric, unless the protocol computes none."""
    needed = {"required": ["metrics"], "properties": {"metrics": {"minItems": 1}}}
    without = [name for name, part in parts("protocol").items() if not part.metrics]
    with_settings = {"type": "object", "anyOf": [{"required": [name]} for name in without]}
    computes_none = {"anyOf": [{"enum": without}, with_settings]}
    return {
        "if": {"properties": {"protocol": computes_none}, "required": ["protocol"]},
        "then": {"properties": {"metrics": {"maxItems": 0}}},
        "else": needed,
    }


def _choice(kind: str) -> Schema:
    """Return the names of a kind, each with its summary."""
    named = parts(kind).items()
    return {"anyOf": [{"const": name, "description": part.summary} for name, part in named]}


def _made_by(name: str) -> Schema:
    return _object({"generator": {"const": name}}, required=["generator"])


def _data_of(name: str) -> Schema:
    """Return the parameters of the data, and of the data of profiles, for one generator."""
    data = _ref(f"generator.{name}")
    changed = {"properties": {"data": {"anyOf": [data, _ref("blocks")]}}}
    return {
        "if": {"properties": {"data": _made_by(name)}, "required": ["data"]},
        "then": {"properties": {"data": data, "profiles": {"additionalProperties": changed}}},
    }


def _define_generator(part: Part, defs: Schema) -> None:
    """Define the settings of a generator, also as a block of data, which may have a label."""
    key, block = f"generator.{part.name}", f"block.{part.name}"
    defs[key] = _settings_of(part, defs)
    label = defs[key]["properties"].pop("label")
    chosen = {"generator": {"const": part.name, "description": part.summary}}
    defs[key]["properties"] |= chosen
    same = {name: _ref(key, name) for name in defs[key]["properties"]}
    defs[block] = defs[key] | {"properties": same | {"label": label}}


def _entries(kind: str, defs: Schema) -> Schema:
    """Return the schema of an entry: a name, or a name with settings."""
    properties = {}
    for name, part in parts(kind).items():
        defs[f"{kind}.{name}"] = _settings_of(part, defs)
        properties[name] = {
            "description": part.summary,
            "anyOf": [_ref(f"{kind}.{name}"), {"type": "null"}],
        }
    one = _object(properties, closed=True) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [_choice(kind), one]}


def _settings_of(part: Part, defs: Schema) -> Schema:
    """Return the mapping of a part's parameters, with its other keys."""
    parameters = _parameters(part, defs)
    properties = dict(parameters)
    properties |= _own_keys(part)
    if "sweep" in part.reserved_keys:
        properties["sweep"] = _sweep(part, parameters, defs)
    return {"description": part.summary, **_object(properties, closed=True)}


def _own_keys(part: Part) -> Schema:
    """Return the schemas of the keys of a part's entries beside parameters and sweep."""
    model = OWN_KEYS.get(part.kind)
    properties: Schema = _of_model(model)["properties"] if model else {}
    untuned = isinstance(part, Algorithm) and not part.takes_grid
    return {
        key: {word: value for word, value in schema.items() if (word, value) != ("default", None)}
        for key, schema in properties.items()
        if not (untuned and key in ("tuning", "folds"))
    }


def _sweep(part: Part, parameters: Schema, defs: Schema) -> Schema:
    """Define the lists of values of a part's parameters, and return the schema of a sweep."""
    key, lists = f"{part.kind}.{part.name}", f"lists.{part.kind}.{part.name}"
    columns: Schema = {}
    for name, schema in parameters.items():
        values = {"type": "array", "items": _ref(key, name), "minItems": 1}
        columns[name] = {
            "description": schema.get("description", ""),
            "anyOf": [values, _ref("range")],
        }
    defs[lists] = _object(columns, closed=True) | {"minProperties": 1}
    group = _ref(lists)
    paired = {
        "description": "Lists of equal length, whose values are used together.",
        "anyOf": [group, {"type": "array", "items": group, "minItems": 1}],
    }
    same = {name: _ref(lists, name) for name in columns}
    return {
        "description": "Every combination of the lists is used; 'zip' pairs lists instead.",
        **_object(same | {"zip": paired}, closed=True),
        "type": ["object", "null"],
    }


def _parameters(part: Part, defs: Schema) -> Schema:
    """Return parameter -> schema; types without a JSON Schema allow anything."""
    prefix = f"{part.kind}.{part.name}."
    try:
        schema = _of_model(part.parameters, f"#/$defs/{prefix}{{model}}")
    except PydanticInvalidForJsonSchema:
        return {name: {} for name in part.parameters.model_fields}
    defs.update({prefix + name: one for name, one in schema.get("$defs", {}).items()})
    properties: Schema = schema.get("properties", {})
    return properties
