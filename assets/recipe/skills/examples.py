"""Examples: a few of a kind, named by the model; and a pattern shown on two or three, to be gone on with.

What is named of a kind goes on from the last in one round, so that none comes twice.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.user_words import any_words, marked, some_word, spaced, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("examples")
_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES), ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS), ("colors", words.COLOURS), ("musical instruments", words.KINDS["instruments"]),
          ("kinds of fruit", words.KINDS["fruits"]), ("days of the week", words.KINDS["days"]),
          ("pieces of furniture", words.KINDS["furniture"]), *list(words.KINDS.items()) * 2)  # fmt: skip
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 8)
# Each pattern is named in the reply before it is followed.
_OF_WORDS: dict[str, Callable[[str], str]] = {
    "in capitals": str.upper, "a capital first": str.title, "backwards": lambda one: one[::-1],
    "first letter": lambda one: one[0], "last letter": lambda one: one[-1], "first two letters": lambda one: one[:2],
    "how many letters": lambda one: str(len(one)), "twice": lambda one: f"{one} {one}",
    "without the first letter": lambda one: one[1:], "without the last letter": lambda one: one[:-1],
    "with a or an": words.article, "spelled": spaced, "first letter in capitals": lambda one: one[0].upper(),
    "in quotes": '"{}"'.format, "in brackets": "({})".format, "in stars": "*{}*".format,
}  # fmt: skip
_OF_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "plus {k}": lambda n, k: n + k, "times {k}": lambda n, k: n * k, "minus {k}": lambda n, k: n + k,
    "half": lambda n, k: 2 * n, "times itself": lambda n, k: n * n, "plus 1": lambda n, k: n + 1,
    "double": lambda n, k: 2 * n, "times 10": lambda n, k: 10 * n,
}  # fmt: skip
_ADDED = ("s", "s", "s", "ing", "er", "ly", "y", "!", "?", "less", "ful", "1", "_x", ".txt", ".", "ed", "ness", "man")
_PAIRS = tuple((name, tuple(tuple(pair.split("/")) for pair in told.split())) for name, told in
               (line.split(" = ") for line in _WORDING["pairs"]))  # fmt: skip
_KIND_OF = {item: kind for kind, items in (("animal", words.ANIMALS), ("food", words.FOODS), ("colour", words.COLOURS),
            ("job", words.JOBS), ("city", words.CITIES)) for item in items[:40]}  # fmt: skip
_SHAPES = (*[("{a} -> {b}", ", ")] * 3, ("{a} => {b}", ", "), ("{a}: {b}", ", "), ("{a} -> {b}", "; "),
           ("{a}/{b}", ", "), ("{a} becomes {b}", ". "), ("Input: {a} Output: {b}", ". "), ("in: {a} out: {b}", "; "),
           ("{a}:{b}", " "), ("{a} = {b}", "\n"), ("{a} = {b}", ", "), ("{a} -> {b}", "\n"), ("{a} - {b}", "; "),
           ("Q: {a} A: {b}", " "), ("{a} is to {b}", ", "), ("{a}, {b}", "; "), ("{a} goes to {b}", ", "),
           ("{a} > {b}", " | "), ("word: {a}, answer: {b}", "\n"), ("{a} gives {b}", ", "))  # fmt: skip


def _named(draw: Draw, ask: str, items: list[str], pool: set[str], style: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply lists just so many of the pool, none of them twice."""

    def check(reply: str) -> bool:
        found = [item.strip(" -.1234567890") for item in reply.replace("\n", ",").split(",")]
        return len(found) == len(set(found)) == len(items) and set(found) <= pool

    return Exchange(ask, marked(items, style) if style else ", ".join(items), check, follow_up)


def _of_a_kind(draw: Draw) -> list[Exchange]:
    """A few of a kind, perhaps without some, and perhaps some more."""
    kind, pool = draw.any(_KINDS)
    round_, begin = pool[:20], draw.any(_BEGINNINGS)
    count = draw.whole(2, min(8, len(round_) - 1))
    named = [round_[(begin + at) % len(round_)] for at in range(len(round_))]
    if len(pool) < 13 and draw.chance(0.5):
        return [_named(draw, draw.ask(_WORDING["all"], kind=kind), list(pool), set(pool), draw.any(("1.", "- ", "")))]
    asks, unwanted = "examples", named[-1]
    allowed = set(pool)
    if draw.chance(0.2):
        asks, unwanted = "without", draw.any(named[:count] if draw.chance(0.7) else named)
        named.remove(unwanted)
        allowed -= {unwanted}
    style = draw.any(("1.", "1.", "- ", ""))
    ask = draw.ask(_WORDING[asks], k=draw.any((words.spelled(count), str(count))), kind=kind, y=unwanted)
    exchanges = [_named(draw, ask, named[:count], allowed, style)]
    said = count
    while draw.chance(0.4) and len(exchanges) < 3 and said + 4 < len(named):
        more = draw.whole(2, 4)
        ask = draw.ask(_WORDING["more"], k=draw.any((words.spelled(more), str(more))))
        exchanges.append(_named(draw, ask, named[said : said + more], allowed - set(named[:said]), style, True))
        said += more
    return exchanges


def _pairs(draw: Draw, count: int) -> tuple[str, list[tuple[str, str]]]:
    """A pattern's name, and so many pairs of it."""
    style = draw.rng.random()
    if style < 0.25:
        rule, k = draw.any(tuple(_OF_NUMBERS)), draw.whole(2, 9)
        values = draw.rng.sample(range(1, draw.any((12, 12, 40))), count)
        pairs = [(str(n), str(_OF_NUMBERS[rule](n, k))) for n in values]
        return rule.format(k=k), [pair[::-1] for pair in pairs] if rule in ("half", "minus {k}") else pairs
    if style < 0.45:
        name, known = draw.any(_PAIRS)
        pairs = [(one, other) for one, other in draw.rng.sample(known, count)]
        return name, [pair[::-1] for pair in pairs] if name in ("opposite", "from words") and draw.chance(
            0.4
        ) else pairs
    if style < 0.5:
        return "kind", [(one, _KIND_OF[one]) for one in draw.rng.sample(sorted(_KIND_OF), count)]
    sources: list[str] = []
    while len(sources) < count:
        one = some_word(draw)
        sources += [one] if one not in sources and len(one) > 2 else []
    if style < 0.7:
        end, first = draw.any(_ADDED), draw.any(("un", "re", "my ", "the ", "no ", "a ", "-", "#", "$", "old ", "@"))
        at_end = draw.chance(0.75)
        pairs = [(one, one + end if at_end else first + one) for one in sources]
        if end == "s" and at_end and draw.chance(0.3):
            pairs = [(f"one {one}", f"two {other}") for one, other in pairs]
        return f"plus {end} at the end" if at_end else f"{first.strip()} in front", pairs
    rule = draw.any(tuple(_OF_WORDS))
    return rule, [(one, _OF_WORDS[rule](one)) for one in sources]


def _seen(rule: str, pairs: list[tuple[str, str]]) -> str:
    """Return the differences, the quotients or the letters, told before the pattern has its name."""
    (one, other), (source, answer) = pairs[0], pairs[-1]
    if not source.isdigit() or not answer.isdigit():
        plain = one.isalpha() and other.isalpha() and len(one + other) < 20
        before = f"{spaced(one)} {spaced(other)}: " if plain else ""
        after = {"backwards": f", {spaced(source)}, {spaced(answer)}", "how many letters": f", {spaced(source)}"}
        return before + rule + after.get(rule, "")
    known = [(int(a), int(b)) for a, b in pairs[:-1]]
    told = [", ".join(f"plus {b - a}" if b >= a else f"minus {a - b}" for a, b in known)]
    if len({b - a for a, b in known}) > 1:
        if all(b % a == 0 for a, b in known):
            told.append(", ".join(f"times {b // a}" for a, b in known))
        if "times" not in rule or rule == "times itself":
            told.append(rule)
    return ". ".join(told)


def _pattern(draw: Draw) -> list[Exchange]:
    """A pattern shown on two or three, and one to do: the reply names it, then does it."""
    rule, pairs = _pairs(draw, draw.any((3, 3, 4)))
    shape, join = draw.any(_SHAPES)
    told = "".join(shape.format(a=a, b=b) + join for a, b in pairs[:-1])
    source, answer = pairs[-1]
    end = draw.any((shape.format(a=source, b="").rstrip(), shape.format(a=source, b="?")))
    if "becomes" in shape:
        end = draw.any((f"What does {source} become?", f"{source} becomes", f"And {source} becomes?"))
    ask = draw.expand(draw.any(_WORDING["go on"])) + told + end
    reply = f"Pattern: {_seen(rule, pairs)}. {source} -> {answer}. So {answer}"
    return [Exchange(ask, reply, ends_with_numbers(int(answer)) if answer.isdigit() else exactly_in(answer))]


def _series(draw: Draw) -> list[Exchange]:
    """Things that come again and again in turn, to be gone on with."""
    some = any_words(draw, 2, 3)
    shown, more = draw.whole(len(some) + 1, 3 * len(some)), draw.any((1, 1, 1, 2, 3))
    row = [some[at % len(some)] for at in range(shown + more)]
    ask = draw.ask(_WORDING["series"], x=draw.any((", ", ", ", " ")).join(row[:shown]), k=spelled(more))
    return [worked(ask, f"In turn: {', '.join(some)}. After {row[shown - 1]}", ", ".join(row[shown:]))]


def compose(draw: Draw) -> list[Exchange]:
    """A few of a kind, a pattern, or what goes on in turn."""
    return draw.any((*[_pattern] * 12, *[_of_a_kind] * 5, _series))(draw)
