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
_NUMERIC, _TEXTUAL, _OTHER, _NAMED = (
    words.entries(_WORDING, f"{sort} keys") for sort in ("numeric", "textual", "other", "named")
)
KEYS = (*_NUMERIC, *_TEXTUAL, *_OTHER)
_SHORT = tuple("abcdefgkmnpqrstuvwxyz")
_USUAL = ("name", "name", "age", "age", "city", "job", "score", "colour", "price")
_POOLS = {sort: words.SORTS[sort] for sort in words.entries(_WORDING, "sorts")} | {
    "product": (*words.FOODS, *words.OBJECTS), "event": words.entries(_WORDING, "events"), "color": words.COLOURS,
    "pet": words.ANIMALS,
}  # fmt: skip
_RANGES = {"age": (5, 95), "price": (1, 99), "years": (1, 15)}
_EDITS = ("json_swapped", "json_renamed", "merged", "values_of", "array_more", "array_less")
# Keys are mostly typed in small letters.
_CASES = (str.title, str.title, str.upper)
# How a key stands beside its value, and one such pair beside the next.
_WRITTEN = ((" ", ", "), (" ", ", "), (": ", ", "), ("=", ", "), (" = ", "\n"), (": ", "\n"), (" is ", ", "),
            (" is ", " and "), (": ", "; "), (" ", " and "), (" set to ", " and "), (" with ", " and "),
            (" to ", " and "), (" -> ", ", "), ("=", " "), (":", " "), (":", ","), (" - ", ", "), (" => ", ", "),
            (" is ", "; "), (" ", " "), (" = ", ", "), (" = ", " and "), (" is ", ", and "), ("=", " and "),
             (" ", "; "), (": ", " "), ("=", "\n"), (" is ", ". "), (" ", "\n"))  # fmt: skip
_MORE = words.weighted(_WORDING, "ways")


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
    """A value that fits the key."""
    if key == "name":
        return draw.name()
    if key == "time":
        return f"{draw.whole(7, 21)}:{draw.any(('00', '00', '15', '30', '45'))}"
    return draw.any(_POOLS[key]) if key in _POOLS else draw.whole(*_RANGES.get(key, (1, 300)))


def _facts(draw: Draw) -> dict[str, Any]:
    """Any keys with any values."""
    facts: dict[str, Any] = {}
    pool = draw.any((_USUAL, KEYS, words.every_word(), _SHORT) if draw.chance(0.5) else (_USUAL, KEYS))
    for key in dict.fromkeys(draw.rng.sample(pool, draw.any((1, 2, 2, 2, 3, 3, 4)))):
        named = key in _NAMED
        numeric = key in _NUMERIC or (key not in (*_TEXTUAL, *_NAMED) and draw.chance(0.3))
        if key in _POOLS and draw.chance(0.7):
            facts[key] = draw.any(_POOLS[key])
            continue
        facts[key] = draw.whole(0, draw.any((20, 99, 2030))) if numeric else draw.name() if named else word(draw)
        if named and not numeric and draw.chance(0.15):
            facts[key] = facts[key].lower()
        elif not named and draw.chance(0.3):
            two = f"{some_word(draw)} {some_word(draw)}"
            code = f"{some_word(draw).title()} {draw.any(words.ALPHABET).upper()}{draw.whole(1, 99)}"
            facts[key] = draw.any((True, False, phrase(draw), two.title(), code, draw.whole(1, 199) / 10))
    return {_CASES[at](key): told for key, told in facts.items()} if (at := draw.whole(0, 7)) < 3 else facts


def _fields(draw: Draw, facts: dict[str, Any]) -> str:
    """The facts as people write them down."""
    between, join = draw.any(_WRITTEN)
    join = ", " if join == " " and any(" " in str(told) for told in facts.values()) else join
    quote = '"' if draw.chance(0.25) else ""
    shown = {key: f"{quote}{told}{quote}" if isinstance(told, str) else json.dumps(told) for key, told in facts.items()}
    if draw.chance(0.22):
        keys, values = (draw.any((enumerated, ", ".join))(list(some)) for some in (shown, shown.values()))
        return draw.say(_WORDING["listed"], k=keys, v=values)
    before = draw.any(("", "", "", "the key ", "key ", "my ")) if between in (" set to ", " with ", " is ") else ""
    told = [f"{before}{in_quotes(draw, key) if quote else key}{between}{value}" for key, value in shown.items()]
    return enumerated(told) if between == " " and draw.chance(0.6) else join.join(told)


def _sentence(draw: Draw, way: str) -> tuple[str, dict[str, Any]]:
    """A sentence and the facts in it, in the order of its fields."""
    story, _, keys = draw.any(_WORDING[way]).partition(" => ")
    values: dict[str, Any] = {
        "n": draw.name(), "a": draw.whole(1, 99), "p": draw.any(words.ANIMALS), "y": draw.whole(1900, 2030),
        "w": draw.any((word(draw), phrase(draw))), "c": draw.any(words.CITIES), "j": draw.any(words.JOBS),
        "o": draw.any(_POOLS["product"]), "e": draw.any(_POOLS["event"]), "d": draw.any(_POOLS["day"]),
        "h": some_value(draw, "time"), "m": draw.name(), "r": draw.any(words.every_word()), "b": draw.whole(2, 900),
        "q": draw.any(words.WORDS), "f": draw.any(words.COLOURS), "l": draw.any(_POOLS["sport"]),
    }  # fmt: skip
    story = draw.expand(story)
    if ":" in keys:
        named = (entry.split(":") for entry in keys.split(","))
        return story.format(**values), {key.format(**values): values[field] for field, key in named}
    facts = dict(zip(keys.split(","), (values[key] for key in re.findall(r"\{(\w)\}", story)), strict=True))
    return story.format(**values), facts


def _keyed(draw: Draw) -> Exchange:
    """An object whose keys are told apart from its values."""
    while len(facts := _facts(draw)) < 2:
        pass
    if draw.chance(0.12):
        blank = draw.any(("?", "?", '""', "null", "...", "_", "<value>", ""))
        k = "{" + ", ".join(f'"{key}": {blank}' for key in facts) + "}"
        return json_of(draw.ask(_WORDING["template"], k=k, v=_fields(draw, facts)), facts)
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


def _edited(draw: Draw, way: str, facts: dict[str, Any], items: list[str]) -> Exchange:
    """JSON that the user brings with a value, a key or an item changed, which is named by what it is now."""
    key, new = draw.any(list(facts)), draw.any((word(draw), draw.any(words.every_word())))
    x = json.dumps(items if way.startswith("array") else facts, ensure_ascii=False)
    if way == "json_swapped":
        value: str | int = draw.whole(0, 99) if isinstance(facts[key], int) and draw.chance(0.8) else new
        done: Any = {**facts, key: value}
        named = list(facts.values()).count(facts[key]) == 1 and not isinstance(facts[key], bool)
        ask = draw.ask(_WORDING[way if named else "json_changed"], x=x, y=facts[key] if named else key, z=value)
        return json_of(ask, done)
    if way == "json_renamed":
        renamed = {new if one == key else one: told for one, told in facts.items()}
        return json_of(draw.ask(_WORDING[way], x=x, y=key, z=new), renamed)
    if way == "merged":
        other = {new: draw.any((draw.whole(0, 99), word(draw)))}
        y = json.dumps(other, ensure_ascii=False)
        return json_of(draw.ask(_WORDING[way], x=x, y=y), {**facts, **other})
    if way == "values_of":
        shown = [*map(written, facts.values())]
        return handed_back(draw, draw.ask(_WORDING[way], x=x), ", ".join(shown))
    gone = draw.any(items)
    done = [*items, new] if way == "array_more" else [item for item in items if item != gone]
    return json_of(draw.ask(_WORDING[way], x=x, y=new if way == "array_more" else gone), done)


def _bare(draw: Draw) -> Exchange:
    """An object of values alone, whose names the reply finds."""
    facts: dict[str, Any] = {"name": draw.name(), "age": draw.whole(1, 99)}
    others = ("animal", "city", "colour", "country", "day", "job")
    facts |= {key: draw.any(words.SORTS[key]) for key in draw.rng.sample(others, draw.any((0, 1, 1, 2)))}
    keys = draw.rng.sample([*facts], len(facts)) if draw.chance(0.4) else list(facts)
    told = draw.any((", ", ", ", ", ", " / ", "; ", " ", " - ", "\n")).join(str(facts[key]) for key in keys)
    ask = draw.asked(_WORDING, draw.any(("bare", "json")), x=told)
    return json_of(ask, {key: facts[key] for key in keys}, names=False)


def _more(draw: Draw) -> Exchange:
    """A list, one in another, or what is in JSON that the user brings."""
    way, facts, key = draw.any(_MORE), _facts(draw), draw.any(words.every_word())
    values, items = draw.rng.sample(range(200), draw.whole(2, 6)), any_words(draw, 2, 4)
    x = json.dumps(facts, ensure_ascii=False)
    if way in _EDITS:
        return _edited(draw, way, facts, items)
    if way in ("keys_of", "minified"):
        short = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        ask = draw.ask(_WORDING[way], x=x if way == "keys_of" else json.dumps(facts, indent=2, ensure_ascii=False))
        return handed_back(draw, ask, ", ".join(facts) if way == "keys_of" else short)
    if way in ("looked_up", "json_changed"):
        key = draw.any(list(facts))
        if way == "looked_up":
            return handed_back(draw, draw.ask(_WORDING[way], x=x, y=in_quotes(draw, key)), written(facts[key]))
        new = draw.any((word(draw), draw.whole(0, 99), draw.any((True, False))))
        told = written(new)
        if draw.chance(0.4):
            way, key = "json_more", next(one for one in draw.rng.sample(words.every_word(), 9) if one not in facts)
        elif len(facts) > 1 and draw.chance(0.3):
            return json_of(draw.ask(_WORDING["json_less"], x=x, y=key), {k: v for k, v in facts.items() if k != key})
        return json_of(draw.ask(_WORDING[way], x=x, y=key, z=told), {**facts, key: new})
    told = draw.any((", ".join, ", ".join, " ".join, "; ".join, enumerated))(list(map(str, values)))
    named, owner = word(draw), draw.any([one for one in ("name", "name", "user", "person", *KEYS) if one != key])
    ordered = ", ".join(f"the {words.ORDINALS[at + 1]} one {value}" for at, value in enumerate(values[:3]))
    fact, x = {
        "number_array": (values, told),
        "pretty": (facts, json.dumps(facts, separators=draw.any(((",", ":"), None)), ensure_ascii=False)),
        "python_dict": (facts, str(facts)),
        "unquoted": (facts, "{" + x.replace('"', "")[1:-1] + "}"),
        "empty": ({key: []}, ""), "under_key": ({key: items}, draw.any((", ".join, enumerated))(items)),
        "with_list": ({owner: named, key: items}, f"{owner} {named}, {key} {draw.any((', '.join, enumerated))(items)}"),
        "nested": ({key: facts}, _fields(draw, facts)),
        "several": ([{key: one} for one in values[:3]], draw.any((", ".join(map(str, values[:3])), ordered))),
    }[way]  # fmt: skip
    return json_of(draw.ask(_WORDING[way], x=x, y=key, k=words.spelled(len(values[:3]))), fact)


def record(draw: Draw) -> tuple[list[Exchange], dict[str, Any]]:
    """Facts as JSON, perhaps changed afterwards; and the facts, where they are such as fit a table."""
    style = draw.rng.random()
    if style < 0.67:
        ways = ((0.03, _bare), (0.15, _described), (0.28, _of_keys), (0.4, _keyed), (1, _more))
        return [next(way for most, way in ways if style < most)(draw)], {}
    sentence, facts = _sentence(draw, "sentence") if style < 0.78 else ("", _facts(draw))
    exchanges = [json_of(draw.asked(_WORDING, "json", x=sentence or _fields(draw, facts)), facts)]
    while draw.chance(0.3) and len(exchanges) < 3:
        key = draw.any(list(facts))
        new = draw.whole(1, 99) if isinstance(facts[key], int) else draw.name() if key == "name" else word(draw)
        facts = {**facts, key: new}
        exchanges.append(json_of(draw.ask(_WORDING["change"], key=key, y=new), facts, True))
    return exchanges, facts
