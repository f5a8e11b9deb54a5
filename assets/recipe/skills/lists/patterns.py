"""Patterns shown on a few pairs in any notation, to be gone on with.

The reply first writes the pairs in one notation, whatever the user's was, then what they have in common, then the
one that is asked for: no step needs to look back at how it was typed.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.word_pairs import PAIRS, nouns, plural
from assets.recipe.skills.numbers.arithmetic import work
from assets.recipe.user_words import numbered, some_word, spaced
from assets.recipe.words import read_wording

_WORDING = read_wording("lists/patterns")
Pairs = list[tuple[str, str]]
# The first rules are the ones that people try most.
_OF_WORDS: dict[str, Callable[[str], str]] = {
    "in capitals": str.upper, "a capital first": str.title, "backwards": lambda one: one[::-1],
    "first letter": lambda one: one[0], "last letter": lambda one: one[-1],
    "how many letters": lambda one: str(len(one)), "first two letters": lambda one: one[:2],
    "first three letters": lambda one: one[:3], "last two letters": lambda one: one[-2:],
    "without the first letter": lambda one: one[1:], "without the last letter": lambda one: one[:-1],
    "first and last letter": lambda one: one[0] + one[-1], "first letter in capitals": lambda one: one[0].upper(),
    "spelled": spaced, "letters apart": " ".join, "capitals and !": lambda one: one.upper() + "!",
    "twice": lambda one: f"{one} {one}", "twice in one": lambda one: one + one, "with a or an": words.article,
    "in quotes": '"{}"'.format, "in brackets": "({})".format, "in stars": "*{}*".format,
    "in square brackets": "[{}]".format,
}  # fmt: skip
_USUAL = tuple(_OF_WORDS)[:6]
# The letters of what is asked are told where a rule looks at them, and those of the answer where many of them stay.
_LOOKED_AT = tuple(_OF_WORDS)[:16]
_SPELLED = ("in capitals", "a capital first", "backwards", "without the first letter", "without the last letter",
            "in small letters", "many", "one")  # fmt: skip
# Of the pairs that are known by heart, so many are the most usual; short words are what people turn round.
_MOST_KNOWN = 120
_SHORT = tuple(word for word in words.WORDS if len(word) in (3, 4) and word != word[::-1])
_OF_TWO = {rule: made for rule, *made in (line.split(" = ") for line in _WORDING["of two"])}
_ADDED, _IN_FRONT = (words.entries(_WORDING, name) for name in ("added", "in front"))
_LABELS = {name.removeprefix("label "): words.entries(_WORDING, name) for name in _WORDING if name[:6] == "label "}
_IN_PATTERNS = ("many",) * 8 + words.weighted(read_wording("lists/word_pairs"), "in patterns")
_KNOWN = (*_IN_PATTERNS, *PAIRS)
_SORTS = ((name.removesuffix("s"), int(most)) for name, most in words.pairs(_WORDING, "sorts"))
_KINDS_OF = tuple((name, words.SORTS[name][:most]) for name, most in _SORTS)
_WIDE, _TIGHT, _FRAMED, _ENDS = (_WORDING[name] for name in ("wide", "tight", "framed", "end"))
_JOINTS = (*[", "] * 4, "; ", "\n", "\n", ". ", " and ", " || ", ",", ", then ", " / ", ";", "\n\n", ". And ", ", and ")
_SIGNS: dict[str, Callable[[int, int], int]] = {
    "+": lambda n, k: n + k, "-": lambda n, k: n - k, "×": lambda n, k: n * k, "/": lambda n, k: n // k,
}  # fmt: skip


def _of_numbers(draw: Draw, count: int) -> tuple[str, Pairs]:
    """A rule for numbers, or for two at a time, with so many examples; a sign and a number where it is one."""
    style = draw.rng.random()
    values = draw.rng.sample(range(1, draw.any((12, 12, 40, 99))), count)
    values = sorted(values) if draw.chance(0.4) else values
    if style < 0.08:
        return "even or odd", [(str(n), ("even", "odd")[n % 2]) for n in values]
    if style < 0.18:
        joint, others = draw.any(("+", " + ", " and ", " plus ", ",")), [draw.whole(1, 12) for _ in values]
        return "the sum", [(f"{n}{joint}{k}", str(n + k)) for n, k in zip(values, others, strict=True)]
    if style < 0.36:
        values = sorted(draw.rng.sample(range(1, draw.any((7, 13, 13))), count))
        return "times itself", [(str(n), str(n * n)) for n in values]
    sign = draw.any(("+", "+", "-", "×", "×", "/"))
    k = draw.any((1, 1, 2, 3, 4, 5, 10, 10, draw.whole(6, 30)) if sign in "+-" else (2, 2, 2, 3, 3, 4, 5, 10, 10))
    values = [n + k if sign == "-" else n * k if sign == "/" else n for n in values]
    return f"{sign} {k}", [(str(n), str(_SIGNS[sign](n, k))) for n in values]


def _known(draw: Draw, count: int) -> tuple[str, Pairs]:
    """A rule that is known by heart, with so many examples."""
    if draw.chance(0.1):
        kinds = [draw.any(_KINDS_OF)]
        while len(kinds) < count:
            kind = draw.any(_KINDS_OF)
            kinds += [kind] if not any({*kind[1]} & {*items} for name, items in kinds if name != kind[0]) else []
        if count > 2 and draw.chance(0.5):
            kinds[-1] = draw.any(kinds[:-1])
        return "kind", [(draw.any(items), kind) for kind, items in kinds]
    name = draw.any(_KNOWN)
    rule = name.partition(" with ")[0]
    if name == "many":
        made = draw.chance(0.15)
        pairs = [(noun, plural(noun)) for noun in (_sources(draw, count) if made else nouns(draw, count))]
    else:
        every = [pair for other in PAIRS if other.startswith(rule) for pair in PAIRS[other]]
        known = every if rule == "past" and draw.chance(0.3) else PAIRS[name]
        known = known[:_MOST_KNOWN] if draw.chance(0.7) else known
        begin = draw.whole(0, len(known) - count)
        pairs = [*known[begin : begin + count]] if draw.chance(0.2) else draw.rng.sample(known, count)
    cased = 0.0 if "Roman" in name else 0.4 if "letter" in name else 0.1
    if draw.chance(cased) and all((one + other).isalnum() for one, other in pairs):
        case = draw.any((str.title, str.upper, str.lower))
        return rule, [(case(one), case(other)) for one, other in pairs]
    if name == "many" and draw.chance(0.15):
        return "one", [(other, one) for one, other in pairs]
    if name == "many" and draw.chance(0.15):
        several = draw.any(("two", "two", "many"))
        return rule, [(f"one {one}", f"{several} {other}") for one, other in pairs]
    if rule == "past" and draw.chance(0.3):
        before = draw.any(("I", "I", "I", "we", "you", "they"))
        return rule, [(f"{before} {one}", f"{before} {other}") for one, other in pairs]
    return rule, pairs


def _sources(draw: Draw, count: int) -> list[str]:
    """Different words of three letters or more: any, short plain ones, names, or letters in a row."""
    style, found = draw.rng.random(), list[str]()
    while len(found) < count:
        at, letters = draw.whole(0, 22), "".join(draw.any(words.ALPHABET) for _ in range(3))
        letters = (words.ALPHABET[at : at + 3] if draw.chance(0.4) else letters)[: draw.any((2, 3, 3))]
        one = letters if style < 0.08 else draw.name() if style < 0.2 else some_word(draw)
        one = draw.any(words.WORDS[:420]) if style > 0.6 else one
        found += [one] if one not in found and (len(one) > 2 or style < 0.08) else []
    return found


def _added(draw: Draw, sources: list[str]) -> tuple[str, Pairs]:
    """Something more at one end of each word, or taken from there."""
    end, first = draw.any(_ADDED), draw.any(_IN_FRONT)
    at_end = draw.chance(0.75)
    pairs = [(one, one + end if at_end else first + one) for one in sources]
    return "", [pair[::-1] for pair in pairs] if draw.chance(0.2) else pairs


def _of_words(draw: Draw, count: int) -> tuple[str, Pairs]:
    """A rule for words or single letters, with so many examples."""
    sources, style = _sources(draw, count), draw.rng.random()
    if style < 0.14:
        return _added(draw, sources)
    if style < 0.23:
        rule = draw.any(tuple(_OF_TWO))
        named = rule.startswith("initials") or rule.endswith("initial") or draw.chance(0.5)
        firsts = draw.names(count) if named else _sources(draw, count)
        seconds = [one.title() for one in sources] if firsts[0][0].isupper() else sources
        made, *case = _OF_TWO[rule]
        change = getattr(str, case[0]) if case else str
        return rule, [(f"{a} {b}", change(made.format(a=a, b=b))) for a, b in zip(firsts, seconds, strict=True)]
    if style < 0.36:
        return "backwards", [(one, one[::-1]) for one in draw.rng.sample(_SHORT, count)]
    rule = draw.any(_USUAL if draw.chance(0.6) else tuple(_OF_WORDS))
    if style > 0.92:
        rule, sources = draw.any(("in capitals", "twice in one")), draw.rng.sample(words.ALPHABET, count)
    small = rule in ("a capital first", "with a or an")
    pairs = [(one, _OF_WORDS[rule](one)) for one in (map(str.lower, sources) if small else sources)]
    if rule == "in capitals" and draw.chance(0.2):
        return "in small letters", [(answer, answer.lower()) for _, answer in pairs]
    return rule, pairs


def _common(pairs: Pairs, rule: str) -> str:
    """The ending or beginning that only one side of every pair has; else the rule's own name."""
    (one, other), shorter = pairs[0], all(len(b) < len(a) for a, b in pairs)
    if shorter:
        pairs, one, other = [pair[::-1] for pair in pairs], other, one
    end, front = other.removeprefix(one), other.removesuffix(one)
    if len(pairs) < 2 or not one or other == one:
        return rule
    if end != other and all(b == a + end for a, b in pairs):
        return f"without {end.strip()} at the end" if shorter else f"plus {end.strip()} at the end"
    if front != other and all(b == front + a for a, b in pairs):
        return f"without {front.strip()} in front" if shorter else f"{front.strip()} in front"
    return rule


def _named(rule: str, pairs: Pairs) -> str:
    """The rule in words, beside the letters of one pair, and those that are looked at."""
    (one, other), (source, answer) = pairs[0], pairs[-1]
    rule = rule if rule in (*_LOOKED_AT, "many", "one") else _common(pairs, rule)
    plain = one.isalpha() and other.isalpha() and len(one + other) < 20
    before = f"{spaced(one)} {spaced(other)}, " if plain else ""
    looked_at = numbered([*source]) if rule == "how many letters" else spaced(source) if rule in _LOOKED_AT else ""
    if rule in _SPELLED and " " not in source:
        looked_at = f"{spaced(source)}, {spaced(answer)}"
    return f"{before}{rule}{': ' if looked_at else ''}{looked_at}. {source} -> {answer}"


def _calculated(rule: str, pairs: Pairs) -> str:
    """The shown pairs as sums: with plus or minus; if that was not the same each time, by the rule, last first."""
    known = [(int(a), int(b)) for a, b in pairs[:-1]]
    sign, k = (rule[0], rule[2:]) if rule[0] in _SIGNS else ("×", "")
    told = ", ".join(f"{a} {'+' if b >= a else '-'} {abs(b - a)} = {b}" for a, b in known)
    n = int(pairs[-1][0])
    if len({b - a for a, b in known}) == 1 and sign in "+-":
        return f"{told}. {work(n, int(k), sign)[0]}"
    return f"{told}. {', '.join(f'{a} {sign} {k or a} = {b}' for a, b in known[::-1])}. {work(n, int(k or n), sign)[0]}"


def _gone_on_with(ask: str, rule: str, pairs: Pairs) -> Exchange:
    source, answer = pairs[-1]
    shown = "; ".join(f"{a} -> {b}" for a, b in [*pairs[:-1], (source, "?")])
    if rule[:1] in _SIGNS or rule == "times itself":
        told = _calculated(rule, pairs)
    else:
        told = _named(rule, pairs)
        if rule == "the sum":
            a, *_, b = source.replace("+", " ").replace(",", " ").split()
            told = f"the sum. {work(int(a), int(b), '+')[0]}"
    reply = f"Pairs: {shown}. Pattern: {told}. So {answer}"
    return Exchange(ask, reply, ends_with_numbers(int(answer)) if answer.isdigit() else exactly_in(answer))


def _shape(draw: Draw, rule: str, spaced_out: bool, told: float) -> tuple[str, str]:
    """A notation for a pair, `told` being how often it is the rule's own, and what stands between two of them.

    `spaced_out` are pairs with spaces in them.
    """
    style = draw.rng.random()
    if f"told {rule}" in _WORDING and draw.chance(told):
        return draw.expand(draw.any(_WORDING[f"told {rule}"])), draw.any(_JOINTS)
    if style < 0.3:
        return draw.expand(draw.any(_FRAMED)), draw.any((". ", ". ", "; ", "\n", " ", ", ", " | "))
    if style < 0.45 and not spaced_out:
        return "{a} {b}", draw.any((", ", ", ", "; ", "\n", " / ", ". "))
    if style < 0.58:
        joint = draw.any((", ", "; ", "\n", *(() if spaced_out else (" ", " "))))
        return draw.any(_TIGHT), joint
    return draw.any(_WIDE), draw.any(_JOINTS)


def pattern(draw: Draw) -> list[Exchange]:
    """A pattern shown on two or three, and one to do."""
    style = draw.rng.random()
    make = _known if style < 0.4 else _of_words if style < 0.84 else _of_numbers
    rule, pairs = make(draw, 2 if style < 0.14 or (style < 0.84 and draw.chance(0.2)) else draw.any((3, 3, 3, 4)))
    source = pairs[-1][0]
    if style < 0.08 and rule != "kind":
        return [_gone_on_with(draw.ask(_WORDING["analogy"], a=pairs[0][0], b=pairs[0][1], c=source), rule, pairs)]
    shape, join = _shape(draw, rule, " " in "".join(map("".join, pairs)), 0.8 if 0.08 < style < 0.14 else 0.3)
    told = [shape.format(a=a, b=b, n=n) for n, (a, b) in enumerate(pairs[:-1], 1)]
    begun = shape.partition("{b}")[0].format(a=source, n=len(pairs)).rstrip(" \"'([")
    if draw.chance(0.15):
        return [_gone_on_with(draw.ask(_WORDING["asked then"], x=join.join(told), c=source), rule, pairs)]
    x = join.join([*told, draw.any(_ENDS).format(x=begun)])
    if rule in _LABELS and draw.chance(0.2):
        label = draw.any(_LABELS[rule])
        return [_gone_on_with(draw.any((label, label.title())) + draw.any((": ", ": ", " - ", ":\n")) + x, rule, pairs)]
    return [_gone_on_with(x if draw.chance(0.45) else draw.ask(_WORDING["go on"], x=x), rule, pairs)]
