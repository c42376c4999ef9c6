"""A JSON Schema of experiment files, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema

from greedyexp.config.patches import CHANGEABLE
from greedyexp.core.parts import Algorithm, Part
from greedyexp.core.registry import parts
from greedyexp.experiment.model import PROFILES, ClaimEntry, Reading, Settings
from greedyexp.protocols.fitting import TUNINGS

Schema = dict[str, Any]

_RANGE: Schema = {
    "type": "object",
    "description": "Evenly spaced values, both ends included.",
    "properties": {
        "from": {"type": "number"},
        "to": {"type": "number"},
        "num": {"type": "integer", "minimum": 1, "description": "Number of values."},
        "step": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Distance between values.",
        },
        "scale": {"enum": ["linear", "log"], "default": "linear"},
    },
    "required": ["from", "to"],
    "oneOf": [{"required": ["num"]}, {"required": ["step"]}],
    "additionalProperties": False,
}
_LABEL = {"type": "string", "description": "Value of the block in the column 'data'."}


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
    settings = Settings.model_json_schema(ref_template="#/$defs/{model}")
    defs |= settings.pop("$defs", {})
    properties: Schema = settings["properties"]
    generators = parts("generator")
    block = _object({"generator": {"enum": list(generators)}}, required=["generator"])
    labelled = {"label": _LABEL}
    blocks = [(name, _generator(f"block.{name}", name, labelled, defs)) for name in generators]
    listed = {"allOf": [{"if": _made_by(name), "then": settings} for name, settings in blocks]}
    defs["blocks"] = {"type": "array", "items": block | listed, "minItems": 1}
    properties["data"] = {
        "description": properties["data"]["description"],
        "anyOf": [block, {"$ref": "#/$defs/blocks"}],
    }
    protocol = properties["protocol"]
    properties["protocol"] = {key: protocol[key] for key in ("description", "default")}
    properties["protocol"] |= _entries("protocol", defs)
    properties["metrics"]["items"] = _choice("metric")
    for kind in ("algorithm", "figure", "table"):
        properties[f"{kind}s"]["items"] = _entries(kind, defs)
    properties["claims"]["items"] = ClaimEntry.model_json_schema()
    properties["readings"]["items"] = Reading.model_json_schema()
    any_data = {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/blocks"}]}
    changeable = {key: properties[key] for key in CHANGEABLE} | {"data": any_data}
    defs["profile"] = _object(changeable, closed=True) | {"type": ["object", "null"]}
    profiles = {name: {"$ref": "#/$defs/profile"} for name in PROFILES}
    described = {"description": properties["profiles"]["description"]}
    properties["profiles"] = described | _object(profiles, closed=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "greedyexp experiment",
        **_object(properties, required=settings["required"], closed=True),
        "allOf": [*(_data_of(name, defs) for name in generators), _metrics_as_needed()],
        "$defs": defs,
    }


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


def _data_of(name: str, defs: Schema) -> Schema:
    """Return the parameters of the data, and of the data of profiles, for one generator."""
    data = _generator(f"generator.{name}", name, {}, defs)
    changed = {"properties": {"data": {"anyOf": [data, {"$ref": "#/$defs/blocks"}]}}}
    return {
        "if": {"properties": {"data": _made_by(name)}, "required": ["data"]},
        "then": {"properties": {"data": data, "profiles": {"additionalProperties": changed}}},
    }


def _generator(key: str, name: str, more: Schema, defs: Schema) -> Schema:
    """Define the settings of a generator and return a reference to them."""
    part = parts("generator")[name]
    defs[key] = _settings_of(part, defs)
    chosen = {"generator": {"const": name, "description": part.summary}}
    defs[key]["properties"] |= chosen | more
    return {"$ref": f"#/$defs/{key}"}


def _entries(kind: str, defs: Schema) -> Schema:
    """Return the schema of an entry: a name, or a name with settings."""
    properties = {}
    for name, part in parts(kind).items():
        defs[f"{kind}.{name}"] = _settings_of(part, defs)
        properties[name] = {
            "description": part.summary,
            "anyOf": [{"$ref": f"#/$defs/{kind}.{name}"}, {"type": "null"}],
        }
    one = _object(properties, closed=True) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [_choice(kind), one]}


def _settings_of(part: Part, defs: Schema) -> Schema:
    """Return the mapping of a part's parameters, with its other keys."""
    parameters = _parameters(part, defs)
    properties = dict(parameters)
    if isinstance(part, Algorithm):
        properties["label"] = {"type": "string", "description": "Label in rows and figures."}
        if part.takes_grid:
            properties["tuning"] = {
                "enum": list(TUNINGS),
                "description": "Rule that chooses a point of the path.",
            }
            properties["folds"] = {"type": "integer", "minimum": 2, "default": 5}
    if "sweep" in part.reserved_keys:
        properties["sweep"] = _sweep(parameters)
    return {"description": part.summary, **_object(properties, closed=True)}


def _sweep(parameters: Schema) -> Schema:
    columns: Schema = {}
    for name, schema in parameters.items():
        values = {"type": "array", "items": schema, "minItems": 1}
        columns[name] = {
            "description": schema.get("description", ""),
            "anyOf": [values, {"$ref": "#/$defs/range"}],
        }
    group = _object(columns, closed=True) | {"minProperties": 1}
    paired = {"anyOf": [group, {"type": "array", "items": group, "minItems": 1}]}
    return {
        "description": "Every combination of the lists is used; 'zip' pairs lists instead.",
        **_object(columns | {"zip": paired}, closed=True),
        "type": ["object", "null"],
    }


def _parameters(part: Part, defs: Schema) -> Schema:
    """Return parameter -> schema; types without a JSON Schema allow anything."""
    prefix = f"{part.kind}.{part.name}."
    try:
        schema = part.parameters.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    except PydanticInvalidForJsonSchema:
        return {name: {} for name in part.parameters.model_fields}
    defs.update({prefix + name: one for name, one in schema.get("$defs", {}).items()})
    properties: Schema = schema.get("properties", {})
    return properties
