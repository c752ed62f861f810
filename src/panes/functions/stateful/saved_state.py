"""The state of a user's function as JSON: what an instance keeps that has no `save` and `load` of its own."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from panes.errors import PanesError


def cannot_save(owner: str, why: str) -> PanesError:
    hint = f"Give {owner} a save and a load of its own."
    return PanesError("function-failed", f"the state of {owner} cannot be saved: it {why}", hint=hint)


def to_json(owner: str, attributes: dict[str, Any]) -> str:
    """Attributes as JSON; what JSON has not is a one-key object that names its type.

    >>> to_json("Streak", {"n": 2, "value": Decimal("1.50"), "seen": (1, b"x")})
    '{"n": 2, "value": {"decimal": "1.50"}, "seen": {"tuple": [1, {"bytes": "eA=="}]}}'
    """
    tagged = {}
    for name, value in attributes.items():
        try:
            tagged[name] = _tagged(value)
        except TypeError as error:
            raise cannot_save(owner, f"has {name} = {value!r:.100}, with a {error}") from error
    return json.dumps(tagged)


def from_json(text: str) -> dict[str, Any]:
    """The attributes that `to_json` wrote."""
    return {name: _untagged(value) for name, value in json.loads(text).items()}


def _tagged(value: Any) -> Any:
    """A value as JSON can hold it. Only the exact types: one derived from them would come back as another."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_tagged(one) for one in value]
    if kind is tuple:
        return {"tuple": [_tagged(one) for one in value]}
    if kind is dict:
        return {"dict": [[_tagged(key), _tagged(one)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind is date:
        return {"date": value.isoformat()}
    if kind is datetime:
        zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
        return {"datetime": [value.isoformat(), zone, value.fold]}
    raise TypeError(kind.__name__)


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "tuple":
            return tuple(_untagged(one) for one in inner)
        case "dict":
            return {_untagged(key): _untagged(one) for key, one in inner}
        case "bytes":
            return b64decode(inner)
        case "decimal":
            return Decimal(inner)
        case "timedelta":
            return timedelta(*inner)
        case "date":
            return date.fromisoformat(inner)
        case "datetime":
            return _datetime(*inner)
    raise ValueError(f"no type {kind}")


def _datetime(text: str, zone: str | None, fold: int) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=ZoneInfo(zone) if zone is not None else moment.tzinfo, fold=fold)
