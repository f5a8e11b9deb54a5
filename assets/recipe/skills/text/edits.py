"""A text of the user's with something changed: a word or a sign for another, left out, put in; a template filled.

The reply first says what becomes what, so that the copying after it has only that to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.text.parts import KINDS, asked, held, line, sentence
from assets.recipe.user_words import any_words, in_quotes, led, phrase, some_text, word
from assets.recipe.words import read_wording

_WORDING = read_wording("text/copying")
# Words that stand between others.
SMALL = words.entries(_WORDING, "small")
_SIGNS, _GONE = words.pairs(_WORDING, "one sign"), words.pairs(_WORDING, "signs gone")
_ENDS = (("a full stop", "."), ("a period", "."), ("an exclamation mark", "!"), ("a star", "*"), ("a comma", ","),
         ("a question mark", "?"), ("three dots", "..."), ("a smiley", " :)"),
         ("two exclamation marks", "!!"))  # fmt: skip
# What is put beside every word: its name, if it is a sign, and the text.
_PUT = words.pairs(_WORDING, "put")


def _some(draw: Draw) -> tuple[list[str], str]:
    """Words of a sentence or a list, and what stands between them."""
    if draw.chance(0.6):
        return (sentence(draw) if draw.chance(0.75) else draw.own(lambda: line(draw))).split(), " "
    items = [*any_words(draw, 2, 6), *([draw.any(SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    return items, draw.any((" ", " ", ", "))


def _bare(item: str) -> str:
    return item.strip(",.!?:;\"'")


def _whole(gone: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(gone)}(?!\w)")


def swapped(draw: Draw) -> list[Exchange]:
    """A word of a text for another, or left out; a gap filled; two words for two others, or each for the other."""
    items, between = _some(draw)
    bare = [_bare(item) for item in items if _bare(item)]
    gone, new = draw.any([one for one in bare if len(one) > 3 and draw.chance(0.9)] or bare), word(draw)
    if draw.chance(0.15):
        new = f"{new} {word(draw)}"
    way = draw.any((*["swap"] * 5, *["omit"] * 4, "gap", "gap", "exchange", "two", "insert", "insert"))
    text, whole, y, z = between.join(items), _whole(gone), in_quotes(draw, gone), in_quotes(draw, new)
    if way == "omit":
        done = between.join(item for item in items if _bare(item) != gone)
        return asked(draw, way, f"Without {gone}", done, x=text, y=y) if done else swapped(draw)
    if way == "gap":
        blank = draw.any(("____", "___", "...", "(gap)", "_____", "[blank]", "____"))
        x, done = (whole.sub(lambda _, put=put: put, text, count=1) for put in (blank, new))  # type: ignore[misc]
        return asked(draw, way, f"{blank} -> {new}", done, x=x, z=z)
    if way == "insert":
        side = draw.any(("before", "after"))
        put = f"{new} {gone}" if side == "before" else f"{gone} {new}"
        if len(whole.findall(text)) != 1 or between != " ":
            return swapped(draw)
        return asked(draw, way, f"{new} {side} {gone}", whole.sub(lambda _: put, text), x=text, y=y, z=z, s=side)
    if way == "swap":
        return asked(draw, way, f"{gone} -> {new}", whole.sub(lambda _: new, text), x=text, y=y, z=z)
    other = draw.any(bare)
    if other == gone or {gone, other} & {new, *new.split()}:
        return swapped(draw)
    second = gone if way == "exchange" else word(draw)
    become = {gone: other if way == "exchange" else new, other: second}
    done = re.compile("|".join(_whole(one).pattern for one in become)).sub(lambda found: become[found[0]], text)
    lead = ", ".join(f"{one} -> {to}" for one, to in become.items())
    v, w = in_quotes(draw, other), in_quotes(draw, second)
    return asked(draw, way, lead, done, x=text, y=y, z=z, v=v, w=w)


def every(draw: Draw) -> list[Exchange]:
    """Every digit of one kind, or sign, for another."""
    if draw.chance(0.45):
        y, z = draw.rng.sample("0123456789", 2)
        numbers = [str(draw.whole(1, draw.any((99, 99, 999, 99999)))) for _ in range(draw.whole(1, 6))]
        x = draw.any((" ", " ", ", ")).join(f"{one}{y}" if draw.chance(0.4) else one for one in numbers)
        if y not in x:
            return every(draw)
        return [led(draw.asked(_WORDING, "swap_all", x=x, y=y, z=z), f"{y} -> {z}", x.replace(y, z))]
    (name, sign), (other, new) = draw.rng.sample(_SIGNS, 2)
    some = any_words(draw, 2, 6)
    between = f"{sign} " if sign in ",;:" and draw.chance(0.7) else sign
    if sign == new or any(sign in one or new in one for one in some):
        return every(draw)
    x = between.join(some)
    put = draw.any((other, f"a {other}")) if other != "underscore" else f"an {other}"
    done = new.join(some) if between == sign else f"{new} ".join(some)
    y = draw.any((name, name, f'"{sign}"')) if sign != " " else name
    return [led(draw.asked(_WORDING, "swap_all", x=x, y=y, z=put), f"{name} -> {other}", done)]


def signed(draw: Draw) -> list[Exchange]:
    """A text without its signs, numbers or outer words, or with a sign or a few words more."""
    text, way = sentence(draw).rstrip(".!?"), draw.any(("strip_signs", "strip_signs", "ended", "add_end", "add_start",
                                                        "no_numbers", "no_end"))  # fmt: skip
    if way == "strip_signs":
        name, gone = draw.any(_GONE)
        marked = [f"{one}{draw.any((gone[0], draw.any(gone), '', ''))}" for one in text.split()]
        if draw.chance(0.4):
            at = draw.whole(0, len(marked) - 1)
            marked = [f"{one.rstrip(gone)}{gone[0] if place == at else ''}" for place, one in enumerate(marked)]
            name = name.removesuffix("s") if len(gone) == 1 else name
        if name == "brackets":
            marked = [f"({one.strip('()')})" if draw.chance(0.3) else one.strip("()") for one in marked]
        text = " ".join(marked)
        done = text.translate({ord(one): None for one in gone})
        return asked(draw, way, f"Without {name}", done, x=text, y=name) if done != text else signed(draw)
    if way == "no_numbers":
        some = text.split()
        for _ in range(draw.whole(1, 3)):
            some.insert(draw.whole(0, len(some)), str(draw.whole(1, draw.any((9, 99, 9999)))))
        gone = ", ".join(one for one in some if one.isdigit())
        done = " ".join(one for one in some if not one.isdigit())
        return asked(draw, way, f"Without {gone}", done, x=" ".join(some))
    if way == "no_end":
        some = text.split()
        k = min(draw.any((1, 1, 1, 2, 3)), len(some) - 1)
        end = draw.any(("first", "last"))
        cut, rest = (some[:k], some[k:]) if end == "first" else (some[-k:], some[:-k])
        p = f"{end} word" if k == 1 else f"{end} {draw.any((k, words.spelled(k)))} words"
        return asked(draw, way, f"Without {' '.join(cut)}", " ".join(rest), x=in_quotes(draw, text), p=p)
    if way == "ended":
        name, sign = draw.any(_ENDS)
        return asked(draw, way, f"With {name}", text + sign, x=text, y=name)
    more = draw.any((phrase, some_text, word))(draw)
    done, place = (f"{text} {more}", "at the end") if way == "add_end" else (f"{more} {text}", "in front")
    return asked(draw, way, f"{more} {place}", done, x=text, y=in_quotes(draw, more))


def template(draw: Draw) -> list[Exchange]:
    """A text with places to fill, and what to put there."""
    text = draw.expand(draw.any(_WORDING["template"]))
    slots = list(dict.fromkeys(re.findall(r"<(\w+)>", text)))
    values = {slot: held(draw, slot) if slot in KINDS else word(draw) for slot in slots}
    mark: Callable[[str], str]
    mark = draw.any((str.upper, str.upper, "[{}]".format, "<{}>".format, "{{{}}}".format, "({})".format, "_{}_".format))
    named = str if draw.chance(0.3) else mark
    way, told = draw.any((*(("fill", one) for one in ("{s} is {v}", "{s}={v}", "{s}: {v}", "{s} = {v}", "{s} {v}")),
                          *(("fill_for", one) for one in ("{v} for {s}", "{v} as {s}", "{v} as the {s}",
                                                          "{v} instead of {s}")),
                          *(("fill_by", one) for one in ("{s} by {v}", "{s} with {v}"))))  # fmt: skip
    facts = draw.any((", ", " and ", "; ")).join(told.format(s=named(slot), v=value) for slot, value in values.items())
    shown = re.sub(r"<(\w+)>", lambda found: mark(found[1]), text)
    done = re.sub(r"<(\w+)>", lambda found: values[found[1]], text)
    lead = ", ".join(f"{mark(slot)} -> {value}" for slot, value in values.items())
    return asked(draw, way, lead, done, x=shown, z=facts)


def each_word(draw: Draw) -> list[Exchange]:
    """Something before or after every word, or every word twice."""
    some, between = any_words(draw, 2, 6), draw.any((" ", " ", ", "))
    way, put = draw.any(("each_after", "each_after", "each_before", "each_before", "each_twice")), draw.any(_PUT)
    name = draw.any((put[0], put[0], f'"{put[1]}"')) if put[0] else in_quotes(draw, put[1])
    made = {"each_after": "{one}{put}", "each_before": "{put}{one}", "each_twice": "{one} {one}"}[way]
    done = between.join(made.format(one=one, put=put[1]) for one in some)
    lead = {"each_after": f"{put[1]} after each", "each_before": f"{put[1]} before each"}.get(way, "Each twice")
    return asked(draw, way, lead, done, x=between.join(some), z=name)


def edited(draw: Draw) -> list[Exchange]:
    """One change of a text."""
    return draw.any((*[swapped] * 5, *[signed] * 2, *[template] * 2, every, each_word))(draw)
