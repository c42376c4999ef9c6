"""A JSON Schema of experiment files, for completion and checks in editors."""

from __future__ import annotations

from pydantic.errors import PydanticInvalidForJsonSchema

from greedyexp.config.claims import ClaimEntry, Reading
from greedyexp.config.model import PROFILES, TUNINGS, Settings
from greedyexp.config.profiles import CHANGEABLE
from greedyexp.core.parts import Algorithm, Part
from greedyexp.core.registry import parts

_RANGE = {
    "type": "object",
    "description": "Evenly spaced values, both ends included.",
    "properties": {
        "from": {"type": "number"},
        "to": {"type": "number"},
        "num": {"type": "integer", "minimum": 1, "description": "How many values."},
        "step": {"type": "number", "exclusiveMinimum": 0, "description": "Their distance."},
        "scale": {"enum": ["linear", "log"], "default": "linear"},
    },
    "required": ["from", "to"],
    "oneOf": [{"required": ["num"]}, {"required": ["step"]}],
    "additionalProperties": False,
}


def json_schema() -> dict:
    """The schema (draft 2020-12) of an experiment file with the parts registered now.

    Data parameters depend on the generator, those of algorithms and figures on their names; each
    carries its type, range, default and description, and may stand in a sweep.

    Returns
    -------
    dict
        Plain data for ``json.dumps``.
    """
    defs: dict = {"range": _RANGE}
    settings = Settings.model_json_schema(ref_template="#/$defs/{model}")
    defs |= settings.pop("$defs", {})
    properties = settings["properties"]
    properties["protocol"] = {
        "description": properties["protocol"]["description"],
        "default": properties["protocol"]["default"],
        **_entries("protocol", defs),
    }
    named = {"properties": {"generator": {"enum": list(parts("generator"))}}}
    named["required"] = ["generator"]
    block = {"type": "object", **named}
    block["allOf"] = [_when_block(name, part, defs) for name, part in parts("generator").items()]
    defs["blocks"] = {"type": "array", "items": block, "minItems": 1}
    properties["data"] = {
        "description": properties["data"]["description"],
        "anyOf": [{"type": "object", **named}, {"$ref": "#/$defs/blocks"}],
    }
    properties["metrics"]["items"] = _choice("metric")
    properties["algorithms"]["items"] = _entries("algorithm", defs)
    properties["figures"]["items"] = _entries("figure", defs)
    properties["tables"]["items"] = _entries("table", defs)
    properties["claims"]["items"] = ClaimEntry.model_json_schema()
    properties["readings"]["items"] = Reading.model_json_schema()
    properties["profiles"] = {
        "description": properties["profiles"]["description"],
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/profile"} for name in PROFILES},
        "additionalProperties": False,
    }
    defs["profile"] = {
        "type": ["object", "null"],
        "properties": {key: properties[key] for key in CHANGEABLE if key != "data"}
        | {"data": {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/blocks"}]}},
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "greedyexp experiment",
        "type": "object",
        "properties": properties,
        "required": settings["required"],
        "additionalProperties": False,
        "allOf": [
            *(_when(name, part, defs) for name, part in parts("generator").items()),
            _metrics_as_needed(),
        ],
        "$defs": defs,
    }


def _metrics_as_needed() -> dict:
    """At least one metric, unless the protocol computes none."""
    needed = {"required": ["metrics"], "properties": {"metrics": {"minItems": 1}}}
    without = [name for name, part in parts("protocol").items() if not part.metrics]
    if not without:
        return needed
    with_settings = {"type": "object", "anyOf": [{"required": [name]} for name in without]}
    computes_none = {"anyOf": [{"enum": without}, with_settings]}
    return {
        "if": {"properties": {"protocol": computes_none}, "required": ["protocol"]},
        "then": {"properties": {"metrics": {"maxItems": 0}}},
        "else": needed,
    }


def _choice(kind: str) -> dict:
    """One of the names of a kind, each with its summary."""
    return {
        "anyOf": [
            {"const": name, "description": part.summary} for name, part in parts(kind).items()
        ]
        or [False]
    }


def _when(name: str, part: Part, defs: dict) -> dict:
    """If the generator is this one, then data and the data of profiles have its parameters."""
    key = f"generator.{name}"
    defs[key] = _settings_of(part, defs)
    defs[key]["properties"]["generator"] = {"const": name, "description": part.summary}
    data = {"$ref": f"#/$defs/{key}"}
    changed = {"anyOf": [data, {"$ref": "#/$defs/blocks"}]}
    return {
        "if": {"properties": {"data": _made_by(name)}, "required": ["data"]},
        "then": {
            "properties": {
                "data": data,
                "profiles": {"additionalProperties": {"properties": {"data": changed}}},
            }
        },
    }


def _when_block(name: str, part: Part, defs: dict) -> dict:
    """If the generator of a block of data is this one, then the block has its parameters."""
    key = f"block.{name}"
    defs[key] = _settings_of(part, defs)
    defs[key]["properties"]["generator"] = {"const": name, "description": part.summary}
    label = {"type": "string", "description": "What the column 'data' calls the block."}
    defs[key]["properties"]["label"] = label
    return {"if": _made_by(name), "then": {"$ref": f"#/$defs/{key}"}}


def _made_by(name: str) -> dict:
    return {
        "type": "object",
        "properties": {"generator": {"const": name}},
        "required": ["generator"],
    }


def _entries(kind: str, defs: dict) -> dict:
    """An entry of ``algorithms``, ``figures`` and the like: a name, or a name with settings."""
    properties = {}
    for name, part in parts(kind).items():
        defs[f"{kind}.{name}"] = _settings_of(part, defs)
        properties[name] = {
            "description": part.summary,
            "anyOf": [{"$ref": f"#/$defs/{kind}.{name}"}, {"type": "null"}],
        }
    return {
        "anyOf": [
            _choice(kind),
            {
                "type": "object",
                "properties": properties,
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ]
    }


def _settings_of(part: Part, defs: dict) -> dict:
    """The mapping of a part's parameters, with its reserved keys."""
    parameters = _parameters(part, defs)
    properties = dict(parameters)
    if isinstance(part, Algorithm):
        properties["label"] = {"type": "string", "description": "How rows and figures call it."}
        if part.takes_grid:
            properties["tuning"] = {"enum": list(TUNINGS), "description": "How a point is chosen."}
            properties["folds"] = {"type": "integer", "minimum": 2, "default": 5}
    if "sweep" in part.reserved_keys:
        properties["sweep"] = _sweep(parameters)
    return {
        "type": "object",
        "description": part.summary,
        "properties": properties,
        "additionalProperties": False,
    }


def _sweep(parameters: dict) -> dict:
    columns = {
        name: {
            "description": schema.get("description", ""),
            "anyOf": [
                {"type": "array", "items": schema, "minItems": 1},
                {"$ref": "#/$defs/range"},
            ],
        }
        for name, schema in parameters.items()
    }
    group = {
        "type": "object",
        "properties": columns,
        "additionalProperties": False,
        "minProperties": 1,
    }
    paired = {"anyOf": [group, {"type": "array", "items": group, "minItems": 1}]}
    return {
        "type": ["object", "null"],
        "description": "Every combination of the lists; zip pairs the lists below it.",
        "properties": columns | {"zip": paired},
        "additionalProperties": False,
    }


def _parameters(part: Part, defs: dict) -> dict:
    """Parameter -> schema; types that JSON cannot say allow anything."""
    prefix = f"{part.kind}.{part.name}."
    try:
        schema = part.parameters.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    except PydanticInvalidForJsonSchema:
        return {name: {} for name in part.parameters.model_fields}
    for name, definition in schema.get("$defs", {}).items():
        defs[prefix + name] = definition
    return schema.get("properties", {})
