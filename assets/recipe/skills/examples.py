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
# Each pattern is named in the reply before it is followed; the first rules are the ones that people try most.
_OF_WORDS: dict[str, Callable[[str], str]] = {
    "in capitals": str.upper, "a capital first": str.title, "backwards": lambda one: one[::-1],
    "first letter": lambda one: one[0], "last letter": lambda one: one[-1],
    "how many letters": lambda one: str(len(one)), "first two letters": lambda one: one[:2],
    "first three letters": lambda one: one[:3], "last two letters": lambda one: one[-2:],
    "without the first letter": lambda one: one[1:], "without the last letter": lambda one: one[:-1],
    "first and last letter": lambda one: one[0] + one[-1], "first letter in capitals": lambda one: one[0].upper(),
    "twice": lambda one: f"{one} {one}", "twice in one": lambda one: one + one, "with a or an": words.article,
    "spelled": spaced, "letters apart": " ".join, "in quotes": '"{}"'.format, "in brackets": "({})".format,
    "in stars": "*{}*".format, "in square brackets": "[{}]".format,
}  # fmt: skip
_USUAL = tuple(_OF_WORDS)[:6]
# The letters of what is asked are told where a rule looks at them, and those of the answer where many of them stay.
_LOOKED_AT = tuple(_OF_WORDS)[:13]
_SPELLED = ("in capitals", "a capital first", "backwards", "without the first letter", "without the last letter")
_OF_TWO: dict[str, Callable[[str, str], str]] = {
    "initials": lambda one, two: f"{one[0]}.{two[0]}.".upper(), "initials alone": lambda one, two: one[0] + two[0],
    "the first word": lambda one, two: one, "the second word": lambda one, two: two,
    "turned round": lambda one, two: f"{two} {one}", "the second, the first": lambda one, two: f"{two}, {one}",
    "put together": lambda one, two: one + two, "with a hyphen": lambda one, two: f"{one}-{two}",
    "small, with a dot": lambda one, two: f"{one}.{two}".lower(),
    "an address": lambda one, two: f"{one}.{two}@mail.com".lower(),
    "with an underscore": lambda one, two: f"{one}_{two}",
}  # fmt: skip
_OF_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "plus {k}": lambda n, k: n + k, "times {k}": lambda n, k: n * k, "minus {k}": lambda n, k: n + k,
    "half": lambda n, k: 2 * n, "times itself": lambda n, k: n * n, "plus 1": lambda n, k: n + 1,
    "double": lambda n, k: 2 * n, "times 10": lambda n, k: 10 * n, "minus 1": lambda n, k: n + 1,
}  # fmt: skip
_TURNED = ("half", "minus {k}", "minus 1")
_ADDED = ("s", "s", "s", "ing", "er", "ly", "y", "!", "?", "less", "ful", "1", "_x", ".txt", ".", "ed", "ness", "man",
          ".com", ".py", "@mail.com", "-ish", " please", "2", "es", ".jpg", " ok", "able", "ish")  # fmt: skip
_IN_FRONT = ("un", "re", "my ", "the ", "no ", "a ", "-", "#", "$", "old ", "@", "dis", "pre", "new ", "www.", "* ")
_PAIRS = tuple((name, tuple(tuple(pair.split("/")) for pair in told.split())) for name, told in
               (line.split(" = ") for line in _WORDING["pairs"]))  # fmt: skip
_KINDS_OF = (("animal", words.ANIMALS[:40]), ("food", words.FOODS[:40]), ("colour", words.COLOURS[:20]),
             ("job", words.JOBS[:40]), ("city", words.CITIES[:40]), ("name", words.NAMES[:60]),
             *((kind.removesuffix("s"), words.KINDS[kind]) for kind in ("fruits", "vegetables", "instruments", "sports",
             "trees", "tools", "flowers", "months", "days", "planets", "shapes")))  # fmt: skip
_WIDE = (*[" -> "] * 4, " => ", " => ", ": ", ": ", " = ", " = ", " - ", " becomes ", " gives ", " goes to ", " > ",
         " : ", " | ", " / ", " to ", " is ", " makes ", " → ", " turns into ", " ... ", "   ", " == ")  # fmt: skip
_TIGHT = ("->", "=>", ":", "=", "/", "-", ">", "|")
_FRAMED = ("Input: {a} Output: {b}", "input: {a} output: {b}", "in: {a} out: {b}", "Q: {a} A: {b}",
           "Input: {a}, output: {b}", "word: {a}, answer: {b}", "x: {a} y: {b}", "input {a} output {b}", "f({a}) = {b}",
           '"{a}" -> "{b}"',
           "from {a} to {b}", "{a} is to {b}", "I say {a}, you say {b}", "for {a} write {b}", "'{a}': '{b}'",
           "question: {a} answer: {b}", "IN {a} OUT {b}", "{a} ({b})", "User: {a} Bot: {b}", "[{a}] [{b}]")  # fmt: skip


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


def _of_numbers(draw: Draw, count: int) -> tuple[str, list[tuple[str, str]]]:
    """A rule for numbers, or for two at a time, with so many examples."""
    style = draw.rng.random()
    values = draw.rng.sample(range(1, draw.any((12, 12, 40, 99))), count)
    if style < 0.1:
        return "even or odd", [(str(n), ("even", "odd")[n % 2]) for n in values]
    if style < 0.2:
        joint = draw.any(("+", " + ", " and ", " plus "))
        others = [draw.whole(1, 12) for _ in values]
        return "the sum", [(f"{n}{joint}{k}", str(n + k)) for n, k in zip(values, others, strict=True)]
    rule, k = draw.any(tuple(_OF_NUMBERS)), draw.any((2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10))
    pairs = [(str(n), str(_OF_NUMBERS[rule](n, k))) for n in values]
    return rule.format(k=k), [pair[::-1] for pair in pairs] if rule in _TURNED else pairs


def _known(draw: Draw, count: int) -> tuple[str, list[tuple[str, str]]]:
    """A rule that is known by heart, with so many examples."""
    if draw.chance(0.15):
        first, items = draw.any(_KINDS_OF)
        two = ((first, items), draw.any([kind for kind in _KINDS_OF if not {*items} & {*kind[1]}]))
        return "kind", [(draw.any(items), kind) for kind, items in (*two, *draw.rng.choices(two, k=count - 2))]
    name, known = draw.any((*_PAIRS, *_PAIRS[:4]))
    pairs = [(one, other) for one, other in draw.rng.sample(known, count)]
    return name, [pair[::-1] for pair in pairs] if name == "opposite" and draw.chance(0.4) else pairs


def _sources(draw: Draw, count: int) -> list[str]:
    """Different words of three letters or more: any, names, or letters in a row."""
    style, found = draw.rng.random(), list[str]()
    while len(found) < count:
        letters = "".join(draw.any("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.whole(3, 4)))
        one = letters if style < 0.08 else draw.name() if style < 0.2 else some_word(draw)
        found += [one] if one not in found and len(one) > 2 else []
    return found


def _of_words(draw: Draw, count: int) -> tuple[str, list[tuple[str, str]]]:
    """A rule for words, with so many examples."""
    sources, style = _sources(draw, count), draw.rng.random()
    if style < 0.26:
        end, first = draw.any(_ADDED), draw.any(_IN_FRONT)
        at_end = draw.chance(0.7)
        pairs = [(one, one + end if at_end else first + one) for one in sources]
        if draw.chance(0.2):
            return "without " + (f"{end} at the end" if at_end else f"{first.strip()} in front"), [
                pair[::-1] for pair in pairs
            ]
        if end == "s" and at_end and draw.chance(0.2):
            pairs = [(f"one {one}", f"two {other}") for one, other in pairs]
        return f"plus {end} at the end" if at_end else f"{first.strip()} in front", pairs
    if style < 0.34:
        joint, first = draw.any(("+", " + ", " and ", "+")), draw.any((*_IN_FRONT[:2], "", ""))
        return "put together", [((front := first or some_word(draw)) + joint + one, front + one) for one in sources]
    if style < 0.44:
        rule = draw.any(tuple(_OF_TWO))
        firsts = draw.names(count) if rule.startswith("initials") or draw.chance(0.5) else _sources(draw, count)
        seconds = [one.title() for one in sources] if firsts[0][0].isupper() else sources
        return rule, [(f"{one} {two}", _OF_TWO[rule](one, two)) for one, two in zip(firsts, seconds, strict=True)]
    if style < 0.5:
        first, other = sources[0], draw.any((sources[1], f"{sources[1]} ", "10.0.0.", "192.168.1.", "room ", "v", "#"))
        begin = draw.any((1, 1, draw.whole(2, 40)))
        return "the same number", [(f"{first}{n}", f"{other}{n}") for n in range(begin, begin + count)]
    rule = draw.any(_USUAL if draw.chance(0.6) else tuple(_OF_WORDS))
    small = rule in ("a capital first", "with a or an")
    pairs = [(one, _OF_WORDS[rule](one)) for one in (map(str.lower, sources) if small else sources)]
    if rule == "in capitals" and draw.chance(0.2):
        return "in small letters", [(answer, answer.lower()) for _, answer in pairs]
    return rule, pairs


def _seen(rule: str, pairs: list[tuple[str, str]]) -> str:
    """Return the differences, the quotients or the letters, told before the pattern has its name."""
    (one, other), (source, answer) = pairs[0], pairs[-1]
    if not source.isdigit() or not answer.isdigit():
        plain = one.isalpha() and other.isalpha() and len(one + other) < 20
        before = f"{spaced(one)} {spaced(other)}: " if plain else ""
        looked_at = f", {spaced(source)}" if rule in _LOOKED_AT else ""
        return f"{before}{rule}{looked_at}" + (f", {spaced(answer)}" if rule in _SPELLED else "")
    known = [(int(a), int(b)) for a, b in pairs[:-1]]
    told = [", ".join(f"plus {b - a}" if b >= a else f"minus {a - b}" for a, b in known)]
    if len({b - a for a, b in known}) > 1:
        if all(b % a == 0 for a, b in known):
            told.append(", ".join(f"times {b // a}" for a, b in known))
        if "times" not in rule or rule == "times itself":
            told.append(rule)
    return ". ".join(told)


def _shape(draw: Draw, spaced_out: bool) -> tuple[str, str]:
    """A notation for a pair, and what stands between two of them; `spaced_out` are pairs with spaces in them."""
    style = draw.rng.random()
    if style < 0.25:
        return draw.any(_FRAMED), draw.any((". ", ". ", "; ", "\n", " ", ", ", " | "))
    if style < 0.35 and not spaced_out:
        return "{a} {b}", draw.any((", ", ", ", "; ", "\n", " / "))
    if style < 0.55:
        joint = draw.any((", ", "; ", "\n", *(() if spaced_out else (" ", " "))))
        return f"{{a}}{draw.any(_TIGHT)}{{b}}", joint
    joints = (", ", ", ", ", ", "; ", "\n", ". ", " and ", " || ", ",", ", then ")
    return f"{{a}}{draw.any(_WIDE)}{{b}}", draw.any(joints)


def _pattern(draw: Draw) -> list[Exchange]:
    """A pattern shown on two or three, and one to do: the reply names it, then does it."""
    style = draw.rng.random()
    if style < 0.08:
        rule, pairs = _known(draw, 2)
        if rule != "kind":
            (a, b), (source, _) = pairs
            return [_gone_on_with(draw, draw.ask(_WORDING["analogy"], a=a, b=b, c=source), rule, pairs)]
    make = _of_numbers if style < 0.28 else _known if style < 0.48 else _of_words
    rule, pairs = make(draw, 2 if make is _of_words and draw.chance(0.1) else draw.any((3, 3, 3, 4)))
    source = pairs[-1][0]
    shape, join = _shape(draw, " " in "".join(map("".join, pairs)))
    told = [shape.format(a=a, b=b) for a, b in pairs[:-1]]
    begun = shape.partition("{b}")[0].format(a=source).rstrip(" \"'([")
    ends = (begun, begun, begun, f"{begun} ?", f"{begun}?", f"{begun} what?", f"{begun} ...", f"{begun} ___")
    if draw.chance(0.15):
        return [_gone_on_with(draw, draw.ask(_WORDING["asked then"], x=join.join(told), c=source), rule, pairs)]
    x = join.join([*told, draw.any(ends)])
    return [_gone_on_with(draw, x if draw.chance(0.5) else draw.ask(_WORDING["go on"], x=x), rule, pairs)]


def _gone_on_with(draw: Draw, ask: str, rule: str, pairs: list[tuple[str, str]]) -> Exchange:
    source, answer = pairs[-1]
    reply = f"Pattern: {_seen(rule, pairs)}. {source} -> {answer}. So {answer}"
    return Exchange(ask, reply, ends_with_numbers(int(answer)) if answer.isdigit() else exactly_in(answer))


def _counted(draw: Draw) -> list[Exchange]:
    """A row in which letters or numbers go on, to be gone on with."""
    more, shown, style = draw.any((1, 1, 1, 2, 3)), draw.whole(3, 4), draw.rng.random()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if draw.chance(0.5) else "abcdefghijklmnopqrstuvwxyz"
    at, step, base, n = draw.whole(0, 8), draw.any((1, 1, 2)), some_word(draw), draw.any((1, 1, draw.whole(2, 30)))
    make: Callable[[int], str]
    if style < 0.3:
        make = lambda i: f"{letters[at + i]}{n + i}"  # noqa: E731
    elif style < 0.5:
        make = lambda i: f"{n + i}{letters[at + i]}"  # noqa: E731
    elif style < 0.75:
        make = lambda i: letters[at + step * i]  # noqa: E731
    else:
        joint = draw.any(("", "", " ", "-", "_"))
        make = lambda i: f"{base}{joint}{n + i}"  # noqa: E731
    row = [make(i) for i in range(shown + more)]
    return _row(draw, row, shown, f"One by one: {', '.join(row)}")


def _series(draw: Draw) -> list[Exchange]:
    """Things that come again and again in turn, to be gone on with."""
    some = any_words(draw, 2, 3)
    shown, more = draw.whole(len(some) + 1, 3 * len(some)), draw.any((1, 1, 1, 2, 3))
    row = [some[at % len(some)] for at in range(shown + more)]
    return _row(draw, row, shown, f"In turn: {', '.join(some)}. After {row[shown - 1]}")


def _row(draw: Draw, row: list[str], shown: int, told: str) -> list[Exchange]:
    """A row of which so many are shown."""
    more, x = len(row) - shown, draw.any((", ", ", ", " ")).join(row[:shown])
    ask = draw.ask(_WORDING["series" if more == 1 else "series more"], x=x, k=spelled(more))
    return [worked(ask, told, ", ".join(row[shown:]))]


def compose(draw: Draw) -> list[Exchange]:
    """A few of a kind, a pattern, or what goes on in turn."""
    return draw.any((*[_pattern] * 14, *[_of_a_kind] * 4, _series, _counted))(draw)
