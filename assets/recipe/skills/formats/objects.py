"""Facts as JSON: objects, lists, one in another; values looked up and changed."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.user_words import any_words, enumerated, handed_back, in_quotes, phrase, some_word, word
from assets.recipe.words import read_wording

_WORDING = read_wording("formats/objects")
_NUMERIC, _TEXTUAL, _OTHER, _NAMED, _WORDED = (
    words.entries(_WORDING, f"{sort} keys") for sort in ("numeric", "textual", "other", "named", "worded")
)
KEYS = (*_NUMERIC, *_TEXTUAL, *_OTHER)
_SHORT = tuple("abcdefgkmnpqrstuvwxyz")
_USUAL = words.entries(_WORDING, "usual keys")
_POOLS = {sort: words.POOLS[pool] for sort, pool in words.pairs(_WORDING, "sorts")}
_CODES = words.entries(_WORDING, "codes")
_POOLS["event"] = words.entries(_WORDING, "events")
_RANGES = {"age": (5, 95), "price": (1, 99), "years": (1, 15)}
# Keys are mostly typed in small letters.
_CASES = (str.title, str.title, str.upper)
# How a key stands beside its value, and one such pair beside the next.
_MORE, _EDITS = words.weighted(_WORDING, "ways"), words.weighted(_WORDING, "edits")


def json_of(ask: str, facts: object, follow_up: bool = False, names: bool = True) -> Exchange:
    """An exchange whose reply is these facts as JSON; under whatever names, unless these are told."""
    wanted = json.loads(json.dumps(facts))

    def check(reply: str) -> bool:
        try:
            found = json.loads(reply.split("```json")[-1].split("```")[0])
        except ValueError:
            return False
        if names or not isinstance(found, dict):
            return bool(found == wanted)
        return list(found.values()) == list(wanted.values())

    text = json.dumps(facts, indent=2 if isinstance(facts, dict) else None, ensure_ascii=False)
    return Exchange(ask, f"```json\n{text}\n```", check, follow_up)


def written(value: object) -> str:
    """The value as it stands in a text: JSON, but for texts, which stand without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def some_value(draw: Draw, key: str) -> Any:
    """A value that fits the key: a name, a time, a word, a number."""
    if key in _NAMED:
        return draw.name()
    if key == "time":
        return f"{draw.whole(7, 21)}:{draw.any(('00', '00', '15', '30', '45'))}"
    if key in _WORDED:
        return some_word(draw)
    return draw.any(_POOLS[key]) if key in _POOLS else draw.whole(*_RANGES.get(key, (1, 300)))


def _value(draw: Draw, key: str) -> Any:
    """Any value that may stand beside the key."""
    if key in _POOLS and draw.chance(0.7):
        return draw.any(_POOLS[key])
    if key in _NUMERIC or (key not in (*_TEXTUAL, *_NAMED) and draw.chance(0.3)):
        return draw.whole(0, draw.any((20, 99, 2030)))
    if key in _NAMED:
        return draw.name().lower() if draw.chance(0.15) else draw.name()
    if draw.chance(0.7):
        return word(draw)
    long_code = f"{some_word(draw).title()} {draw.any(words.ALPHABET).upper()}{draw.whole(1, 99)}"
    two, code = f"{some_word(draw)} {some_word(draw)}".title(), draw.any(_CODES)
    return draw.any((True, False, phrase(draw), two, long_code, code, code, draw.whole(1, 199) / 10))


def some_facts(draw: Draw) -> dict[str, Any]:
    """Any keys with any values."""
    pool = draw.any((_USUAL, KEYS, words.every_word(), _SHORT) if draw.chance(0.5) else (_USUAL, KEYS))
    facts = {key: _value(draw, key) for key in dict.fromkeys(draw.rng.sample(pool, draw.any((1, 2, 2, 2, 3, 3, 4))))}
    return {_CASES[at](key): told for key, told in facts.items()} if (at := draw.whole(0, 7)) < 3 else facts


def fields(draw: Draw, facts: dict[str, Any]) -> str:
    """The facts as people write them down."""
    before, between, join = re.split("[KV]", draw.expand(draw.any(_WORDING["written"])))[:3]
    join = ", " if join == " " and any(" " in str(told) for told in facts.values()) else join
    quote = '"' if draw.chance(0.25) else ""
    shown = {key: f"{quote}{told}{quote}" if isinstance(told, str) else json.dumps(told) for key, told in facts.items()}
    if draw.chance(0.22):
        keys, values = (draw.any((enumerated, ", ".join))(list(some)) for some in (shown, shown.values()))
        return draw.say(_WORDING["listed"], k=keys, v=values)
    told = [f"{in_quotes(draw, key) if quote else key}{between}{value}" for key, value in shown.items()]
    return enumerated(told) if before + between == " " and draw.chance(0.6) else before + join.join(told)


def _sentence(draw: Draw, way: str) -> tuple[str, dict[str, Any]]:
    """A sentence and the facts in it, in the order of its fields."""
    story, _, keys = draw.any(_WORDING[way]).partition(" => ")
    values: dict[str, Any] = {
        "n": draw.name(), "a": draw.whole(1, 99), "p": draw.any(words.ANIMALS), "y": draw.whole(1900, 2030),
        "w": draw.any((word(draw), phrase(draw))), "c": draw.any(words.CITIES), "j": draw.any(words.JOBS),
        "o": draw.any(_POOLS["product"]), "e": draw.any(_POOLS["event"]), "d": draw.any(_POOLS["day"]),
        "h": some_value(draw, "time"), "m": draw.name(), "r": draw.any(words.every_word()), "b": draw.whole(2, 900),
        "q": draw.any(words.WORDS), "f": draw.any(words.COLOURS), "l": draw.any(_POOLS["sport"]),
        "u": draw.any(_POOLS["month"]),
    }  # fmt: skip
    story = draw.expand(story)
    if ":" in keys:
        named = (entry.split(":") for entry in keys.split(","))
        return story.format(**values), {key.format(**values): values[field] for field, key in named}
    facts = dict(zip(keys.split(","), (values[key] for key in re.findall(r"\{(\w)\}", story)), strict=True))
    return story.format(**values), facts


def _keyed(draw: Draw) -> Exchange:
    """An object whose keys are told apart from its values."""
    while len(facts := some_facts(draw)) < 2:
        pass
    if draw.chance(0.12):
        told = (fields(draw, facts), fields(draw, facts), enumerated([*map(written, facts.values())]))
        blank = draw.any(("?", "?", '""', "null", "...", "_", "<value>", ""))
        k = "{" + ", ".join(f'"{key}": {blank}' for key in facts) + "}"
        return json_of(draw.ask(_WORDING["template"], k=k, v=draw.any(told)), facts)
    show = partial(json.dumps, ensure_ascii=False) if draw.chance(0.2) else written
    keys, shown = ([*map(show, some)] for some in (facts, facts.values()))
    k, v = draw.any((enumerated, enumerated, ", ".join, ",".join, " ".join, " / ".join))(keys), ", ".join(shown)
    v = draw.any(("; ", " and ", " / ", " | ", "\n")).join(shown) if draw.chance(0.3) else v
    return json_of(draw.ask(_WORDING["keyed"], k=k, v=v, y=draw.any(words.every_word())), facts)


def _described(draw: Draw) -> Exchange:
    """An object for somebody or something that is described."""
    told, facts = _sentence(draw, "described")
    if draw.chance(0.3):
        key, value = draw.say(_WORDING["keys"]), draw.any((True, False, draw.whole(1, 500), word(draw)))
        facts[key] = value
        told += f", {key} {written(value)}"
    return json_of(draw.asked(_WORDING, "object", d=told), facts, names=False)


def _of_keys(draw: Draw) -> Exchange:
    """An object of what a sentence tells under some keys, or under all of them."""
    told, facts = _sentence(draw, draw.any(("described", "sentence")))
    keys = [key for key in facts if draw.chance(0.7)] or list(facts)
    some = len(keys) < len(facts) and draw.chance(0.7)
    k = draw.any((enumerated, enumerated, ", ".join))(keys)
    ask = draw.ask(_WORDING["only_keys" if some else "keyed_story"], d=told.rstrip("."), k=k)
    return json_of(ask, {key: facts[key] for key in keys})


def brought(draw: Draw, value: object) -> str:
    """JSON as users type or paste it."""
    spaced, close, lines = None, {"separators": (",", ":")}, {"indent": 2}
    return json.dumps(value, ensure_ascii=False, **(draw.any((*[spaced] * 6, close, lines)) or {}))


def _edited(draw: Draw) -> Exchange:
    """JSON that the user brings with a value, a key or an item more, less or changed, named by what it is now."""
    way = draw.any(_EDITS)
    facts, items, quote = some_facts(draw), any_words(draw, 2, 4), draw.any(("", "", "", '"', '"', "'"))
    (*keys, last), key, gone = facts, draw.any(list(facts)), draw.any(items)
    told, new = _value(draw, key), next(one for one in draw.rng.sample(words.every_word(), 9) if one not in facts)
    if way == "json_swapped" and (isinstance(facts[key], bool) or list(facts.values()).count(facts[key]) > 1):
        way = "json_changed"
    before, y, z, after = {
        "json_changed": (facts, key, told, {**facts, key: told}),
        "json_swapped": (facts, facts[key], told, {**facts, key: told}),
        "json_renamed": (facts, key, new, {new if one == key else one: value for one, value in facts.items()}),
        "json_more": ({one: facts[one] for one in keys}, last, facts[last], facts),
        "json_less": (facts, key, "", {one: value for one, value in facts.items() if one != key}),
        "array_more": (items[:-1], items[-1], "", items),
        "list_more": ({key: items[:-1]}, items[-1], key, {key: items}),
        "array_less": (items, gone, "", [one for one in items if one != gone]),
    }[way]  # fmt: skip
    y, z = (f"{quote}{one}{quote}" if isinstance(one, str) else json.dumps(one) for one in (y, z))
    return json_of(draw.asked(_WORDING, way, x=brought(draw, before), y=y, z=z), after)


def _more(draw: Draw) -> Exchange:
    """A list, one in another, or what is in JSON that the user brings."""
    way, facts, key = draw.any(_MORE), some_facts(draw), draw.any(words.every_word())
    values, items = draw.rng.sample(range(200), draw.whole(2, 6)), any_words(draw, 2, 4)
    x, asked = json.dumps(facts, ensure_ascii=False), draw.any(list(facts))
    handed = {
        "keys_of": ", ".join(facts), "values_of": ", ".join(map(written, facts.values())),
        "minified": json.dumps(facts, separators=(",", ":"), ensure_ascii=False), "looked_up": written(facts[asked]),
    }  # fmt: skip
    if way in handed:
        x = json.dumps(facts, indent=2, ensure_ascii=False) if way == "minified" else brought(draw, facts)
        return handed_back(draw, draw.ask(_WORDING[way], x=x, y=in_quotes(draw, asked)), handed[way])
    told = draw.any((", ".join, ", ".join, " ".join, "; ".join, enumerated))(list(map(str, values)))
    named, owner = word(draw), draw.any([one for one in ("name", "name", "user", "person", *KEYS) if one != key])
    fact, x = {
        "number_array": (values, told),
        "pretty": (facts, json.dumps(facts, separators=draw.any(((",", ":"), None)), ensure_ascii=False)),
        "python_dict": (facts, str(facts)),
        "under_key": ({key: items}, draw.any((", ".join, enumerated))(items)),
        "with_list": ({owner: named, key: items}, f"{owner} {named}, {key} {draw.any((', '.join, enumerated))(items)}"),
        "nested": ({key: facts}, fields(draw, facts)),
    }[way]  # fmt: skip
    return json_of(draw.ask(_WORDING[way], x=x, y=key), fact)


def record(draw: Draw) -> list[Exchange]:
    """Facts as JSON, perhaps changed afterwards."""
    style = draw.rng.random()
    if style < 0.62:
        ways = ((0.15, _described), (0.26, _of_keys), (0.4, _keyed), (0.49, _more), (1, _edited))
        return [next(way for most, way in ways if style < most)(draw)]
    sentence, facts = _sentence(draw, "sentence") if style < 0.72 else ("", some_facts(draw))
    exchanges = [json_of(draw.asked(_WORDING, "json", x=sentence or fields(draw, facts)), facts)]
    while draw.chance(0.3) and len(exchanges) < 3:
        way, key = draw.any(("change", "change", "change", "change_more", "change_less")), draw.any(list(facts))
        if way == "change_less" and len(facts) > 1:
            del (facts := {**facts})[key]
        else:
            way, key = ("change_more", draw.any(KEYS)) if way == "change_more" else ("change", key)
            facts = {**facts, key: _value(draw, key)}
        exchanges.append(json_of(draw.ask(_WORDING[way], key=key, y=written(facts.get(key))), facts, True))
    return exchanges
