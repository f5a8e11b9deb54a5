"""The same facts in another form: JSON, Markdown lists, Markdown tables, sentences."""

from __future__ import annotations

import json

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("formats")

_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES),
          ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS))  # fmt: skip
_DIGITS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}


def _listed(items: list[str]) -> str:
    return ", ".join(items[:-1]) + " and " + items[-1]


def _is_json(expected: dict[str, object]) -> Check:
    def check(reply: str) -> bool:
        try:
            return bool(json.loads(reply.split("```json")[-1].split("```")[0]) == expected)
        except ValueError:
            return False

    return check


def _json_reply(facts: dict[str, object]) -> str:
    return f"```json\n{json.dumps(facts, indent=2)}\n```"


def _person(draw: Draw) -> list[Exchange]:
    facts: dict[str, object] = {
        "name": draw.any(words.NAMES),
        "age": draw.whole(5, 95),
        "city": draw.any(words.CITIES),
    }
    fields = {"n": facts["name"], "a": facts["age"], "c": facts["city"]}
    if draw.chance(0.4):
        facts["job"] = fields["j"] = draw.any(words.JOBS)
    sentence = draw.say(_WORDING["worker"] if "job" in facts else _WORDING["person"], **fields)
    exchanges = [Exchange(draw.ask(_WORDING["json"], x=sentence), _json_reply(facts), _is_json(facts))]
    if draw.chance(0.3):
        changed = {**facts, "age": draw.whole(5, 95)}
        exchanges.append(
            Exchange(
                draw.ask(_WORDING["change_age"], y=changed["age"]),
                _json_reply(changed),
                _is_json(changed),
                True,
            )
        )
    return exchanges


def _list(draw: Draw) -> list[Exchange]:
    pool = draw.any((words.FOODS, words.OBJECTS, words.ANIMALS, words.NAMES, words.CITIES, words.WORDS))
    *items, extra = draw.words(pool, draw.whole(4, 8))
    bullets = "\n".join(f"- {item}" for item in items)
    exchanges = [Exchange(draw.ask(_WORDING["list"], x=_listed(items)), bullets, exactly_in(bullets))]
    if draw.chance(0.25):
        longer = f"{bullets}\n- {extra}"
        exchanges.append(Exchange(draw.ask(_WORDING["add"], y=extra), longer, exactly_in(longer), True))
        items.append(extra)
    if draw.chance(0.2):
        numbered = "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1))
        exchanges.append(Exchange(draw.ask(_WORDING["make_numbered"]), numbered, exactly_in(numbered), True))
    return exchanges


def _numbered(draw: Draw) -> list[Exchange]:
    items = draw.words(
        draw.any((words.FOODS, words.OBJECTS, words.ANIMALS, words.NAMES, words.WORDS)), draw.whole(3, 7)
    )
    numbered = "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1))
    return [Exchange(draw.ask(_WORDING["numbered"], x=_listed(items)), numbered, exactly_in(numbered))]


def _names_of(pool: tuple[str, ...], count: int) -> Check:
    """The reply lists this many of the pool, none of them twice."""

    def check(reply: str) -> bool:
        found = [item.strip(" -.1234567890") for item in reply.replace("\n", ",").split(",")]
        return len(found) == len(set(found)) == count and set(found) <= set(pool)

    return check


def _examples(draw: Draw) -> list[Exchange]:
    kind, pool = draw.any(_KINDS)
    word, count = draw.any(tuple(_DIGITS.items()))
    shown = draw.any((word, str(count)))
    more = draw.whole(2, 4)
    items = draw.rng.sample(pool, count + more)
    style = draw.any((", ", "\n- ", "\n"))

    def listed(part: list[str]) -> str:
        if style == "\n":
            return "\n".join(f"{at}. {item}" for at, item in enumerate(part, 1))
        return ("- " if "-" in style else "") + style.join(part)

    exchanges = [
        Exchange(draw.ask(_WORDING["examples"], k=shown, kind=kind), listed(items[:count]), _names_of(pool, count))
    ]
    if draw.chance(0.2):
        reply = listed(items[count:])
        exchanges.append(Exchange(draw.ask(_WORDING["more"], k=more), reply, _names_of(pool, more), True))
    return exchanges


def _table(draw: Draw) -> list[Exchange]:
    items = draw.words(draw.any((words.FOODS, words.OBJECTS)), draw.whole(2, 5))
    prices = [draw.whole(1, 60) for _ in items]
    told = _listed([f"{item} {price}" for item, price in zip(items, prices, strict=True)])
    rows = "\n".join(f"| {item} | {price} |" for item, price in zip(items, prices, strict=True))
    table = f"| Item | Price |\n| --- | --- |\n{rows}"
    return [Exchange(draw.ask(_WORDING["table"], x=told), table, exactly_in(table))]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    return draw.any((_person, _person, _list, _list, _numbered, _table, _examples))(draw)
