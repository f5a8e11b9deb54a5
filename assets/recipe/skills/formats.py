"""The same facts in another form: JSON, Markdown lists, Markdown tables, sentences."""

from __future__ import annotations

import json

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw

_PERSON = ("{n} is {a} years old and lives in {c}.", "{n}, {a}, lives in {c}.",
           "{n} lives in {c} and is {a}.",
           "My friend {n} is {a} and comes from {c}.")  # fmt: skip
_WORKER = ("{n} is a {a} year old {j} from {c}.", "{n} works as a {j} in {c} and is {a} years old.")
_JSON = ("[Make|Write|Give me] JSON from this[ sentence|]: {x}", "Turn this into JSON: {x}",
         "{x} Now as JSON.", "JSON please: {x}",
         "Convert to JSON: {x}", "[Extract|Put] the facts as JSON: {x}", "As a JSON object: {x}")  # fmt: skip
_LIST = ("[Make|Write] a [Markdown|bulleted|bullet] list of {x}.", "List {x} as bullet points.",
         "Turn {x} into a Markdown list.",
         "Put {x} in a list.", "Bullet list: {x}", "{x} as a list please.")  # fmt: skip
_NUMBERED = ("[Make|Write] a numbered list of {x}.", "Number these: {x}", "A numbered list please: {x}",
             "List {x} with numbers.", "{x} as a numbered list.")  # fmt: skip
_TABLE = ("[Make|Write|Draw] a [Markdown |]table: {x}.", "Put this in a table: {x}.",
          "Table of these prices: {x}.",
          "Turn this into a Markdown table: {x}.", "Show as a table: {x}.")  # fmt: skip
_ADD = ("[Now add|Add] {y}.", "And {y}.", "[Also|Please add] {y}.", "Put {y} at the end.", "I forgot {y}.")
_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES),
          ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS))  # fmt: skip
_EXAMPLES = ("[Name|List|Give me|Tell me|Write] {k} {kind}.", "[Make|Write] a list of {k} {kind}.",
             "{k} {kind} please",
             "I need {k} {kind}.", "Can you name {k} {kind}?", "Think of {k} {kind}.", "List of {k} {kind}.",
             "Give me a list with {k} {kind}.")  # fmt: skip
_MORE = ("[And |]{k} more.", "Another {k}.", "[Now |]{k} other ones.", "Give me {k} more.",
         "Can you name {k} more?")
_DIGITS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_MAKE_NUMBERED = ("[Now |]with numbers.", "Number them.", "As a numbered list.", "[Now |]make it numbered.",
                  "Numbers instead of bullets.")
_CHANGE_AGE = ("[Make|Change] the age [to |]{y}.", "Now with age {y}.", "No, {y} years old.",
               "The age should be {y}.", "Set the age to {y}.")


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
    facts: dict[str, object] = {"name": draw.word(words.NAMES), "age": draw.whole(5, 95),
                                "city": draw.word(words.CITIES)}
    fields = {"n": facts["name"], "a": facts["age"], "c": facts["city"]}
    if draw.chance(0.4):
        facts["job"] = fields["j"] = draw.word(words.JOBS)
    sentence = draw.say(_WORKER if "job" in facts else _PERSON, **fields)
    exchanges = [Exchange(draw.ask(_JSON, x=sentence), _json_reply(facts), _is_json(facts))]
    if draw.chance(0.3):
        changed = {**facts, "age": draw.whole(5, 95)}
        exchanges.append(Exchange(draw.ask(_CHANGE_AGE, y=changed["age"]), _json_reply(changed),
                         _is_json(changed), True))
    return exchanges


def _list(draw: Draw) -> list[Exchange]:
    pool = draw.any((words.FOODS, words.OBJECTS, words.ANIMALS, words.NAMES, words.CITIES, words.WORDS))
    *items, extra = draw.words(pool, draw.whole(4, 8))
    bullets = "\n".join(f"- {item}" for item in items)
    exchanges = [Exchange(draw.ask(_LIST, x=_listed(items)), bullets, exactly_in(bullets))]
    if draw.chance(0.25):
        longer = f"{bullets}\n- {extra}"
        exchanges.append(Exchange(draw.ask(_ADD, y=extra), longer, exactly_in(longer), True))
        items.append(extra)
    if draw.chance(0.2):
        numbered = "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1))
        exchanges.append(Exchange(draw.ask(_MAKE_NUMBERED), numbered, exactly_in(numbered), True))
    return exchanges


def _numbered(draw: Draw) -> list[Exchange]:
    items = draw.words(draw.any((words.FOODS, words.OBJECTS, words.ANIMALS, words.NAMES, words.WORDS)),
                       draw.whole(3, 7))
    numbered = "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1))
    return [Exchange(draw.ask(_NUMBERED, x=_listed(items)), numbered, exactly_in(numbered))]


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

    exchanges = [Exchange(draw.ask(_EXAMPLES, k=shown, kind=kind), listed(items[:count]),
                 _names_of(pool, count))]
    if draw.chance(0.2):
        reply = listed(items[count:])
        exchanges.append(Exchange(draw.ask(_MORE, k=more), reply, _names_of(pool, more), True))
    return exchanges


def _table(draw: Draw) -> list[Exchange]:
    items = draw.words(draw.any((words.FOODS, words.OBJECTS)), draw.whole(2, 5))
    prices = [draw.whole(1, 60) for _ in items]
    told = _listed([f"{item} {price}" for item, price in zip(items, prices, strict=True)])
    rows = "\n".join(f"| {item} | {price} |" for item, price in zip(items, prices, strict=True))
    table = f"| Item | Price |\n| --- | --- |\n{rows}"
    return [Exchange(draw.ask(_TABLE, x=told), table, exactly_in(table))]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    return draw.any((_person, _person, _list, _list, _numbered, _table, _examples))(draw)
