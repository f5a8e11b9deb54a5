"""A text of the user's with something changed: a word or a sign for another, left out, put in; a template filled.

The reply first says what becomes what, so that the copying after it has only that to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.text.parts import KINDS, asked, held, in_sentence, line, sentence
from assets.recipe.user_words import any_words, as_one, enumerated, in_quotes, phrase, small_items, some_text, word
from assets.recipe.words import read_wording

_WORDING = read_wording("text/copying")
# Words that stand between others.
SMALL, _FORMS = words.entries(_WORDING, "small"), words.entries(_WORDING, "forms")
_SIGNS, _GONE = words.pairs(_WORDING, "one sign"), words.pairs(_WORDING, "signs gone")
_ENDS, _AT_ENDS, _AROUND = (words.pairs(_WORDING, name) for name in ("ends", "signs at ends", "signs around"))
# What is put beside every word: its name, if it is a sign, and the text.
_PUT = words.pairs(_WORDING, "put")


def _some(draw: Draw, listed: bool = True) -> tuple[list[str], str]:
    """Words of a sentence or, if `listed`, of a list, and what stands between them."""
    if not listed or draw.chance(0.6):
        return (sentence(draw) if draw.chance(0.75) else draw.own(lambda: line(draw))).split(), " "
    items = [*any_words(draw, 2, 6), *([draw.any(SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    return items, draw.any((" ", " ", ", "))


def _bare(item: str) -> str:
    return item.strip(",.!?:;\"'")


def _whole(gone: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(gone)}(?!\w)")


def _another(draw: Draw, gone: str, kind: str) -> str:
    """What takes a word's place: another of its kind, itself in another form, or any word or two."""
    if gone.isdigit():
        return str(draw.whole(1, 99 if len(gone) < 3 else 9999))
    if kind and draw.chance(0.6):
        return draw.any(words.SORTS[kind])
    if draw.chance(0.2):
        return gone + draw.any(_FORMS) if draw.chance(0.7) or len(gone) < 3 else gone[0] + gone[2:]
    return f"{word(draw)} {word(draw)}" if draw.chance(0.15) else word(draw)


def swapped(draw: Draw, way: str) -> list[Exchange]:
    """A word of a text for another, or left out, or with another beside it; two words for two, or each for the other.

    Whatever becomes of a word, the reply first says it with an arrow, so that all of them are the same copying.
    """
    # What goes out of a list is told item by item, in skills/lists/word_lists.py.
    items, between = _some(draw, listed=way != "omit")
    if way == "exchange_both":
        items, between = any_words(draw, 2, 2), draw.any((" ", " ", ", ", " and ", " - ", "/"))
    bare = [_bare(item) for item in items if _bare(item)]
    gone = draw.any([one for one in bare if len(one) > 3 and draw.chance(0.7)] or bare)
    if way in ("omit", "swap") and draw.chance(0.35):
        # Near where it stands: what follows it tells one from the other.
        at = [*map(_bare, items)].index(gone)
        items.insert(min(at + draw.any((1, 2, 2, 2, 3, 4)), len(items) - 1), gone)
    text = between.join(items)
    kind = next((kind for kind, pool in words.SORTS.items() if gone in pool), "")
    new = _another(draw, gone, kind) if way == "swap" else word(draw)
    if way == "swap" and kind and draw.chance(0.4) and sum(one in words.SORTS[kind] for one in bare) == 1:
        new = draw.any(words.SORTS[kind])
        return asked(draw, "swap_kind", f"{gone} -> {new}", _whole(gone).sub(new, text), x=text, y=kind, z=new)
    whole, y, z = _whole(gone), in_quotes(draw, gone), in_quotes(draw, new)
    if way == "omit":
        done = between.join(item for item in items if _bare(item) != gone)
        return asked(draw, way, f"Without {gone}", done, x=text, y=y) if done else swapped(draw, way)
    if way.startswith("insert"):
        side = draw.any(("before", "before", "after", "after", "in front of", "behind"))
        put = f"{new} {gone}" if side in ("before", "in front of") else f"{gone} {new}"
        if way == "insert_sign":
            (z, sign), side = draw.any(_ENDS), draw.any(("after", "after", "behind"))
            put = f"{gone}{sign}"
        if text.count(gone) != 1 or between != " ":
            return swapped(draw, way)
        y = gone.lower() if draw.chance(0.3) else y
        return asked(draw, way, f"{gone} -> {put}", whole.sub(lambda _: put, text), x=text, y=y, z=z, s=side)
    if way == "swap":
        at = draw.any((0, 1, 2, -1))
        if draw.chance(0.12) and len(items) > 3 and gone == _bare(items[at]) and text.count(gone) == 1:
            way, y = "swap_placed", "last" if at < 0 else draw.any((words.ORDINALS[at + 1], words.nth(at + 1)))
        return asked(draw, way, f"{gone} -> {new}", whole.sub(lambda _: new, text), x=text, y=y, z=z)
    other = draw.any(bare)
    if way in ("exchange_ends", "exchange_both"):
        gone, other = bare[0], bare[-1]
    if other == gone or {gone, other} & {new, *new.split()}:
        return swapped(draw, way)
    second = word(draw) if way == "two" else gone
    become = {gone: new if way == "two" else other, other: second}
    done = re.compile("|".join(_whole(one).pattern for one in become)).sub(lambda found: become[found[0]], text)
    lead = ", ".join(f"{one} -> {to}" for one, to in become.items())
    v, w = in_quotes(draw, other), in_quotes(draw, second)
    return asked(draw, way, lead, done, x=text, y=y, z=z, v=v, w=w)


def _with_signs(draw: Draw, signs: str) -> str:
    """Items with one of the signs between them, or what has signs of its own: a date, an address, a code."""
    if draw.chance(0.5):
        sign = draw.any(signs)
        return (f"{sign} " if sign in "!?" or (sign in ",;:" and draw.chance(0.6)) else sign).join(small_items(draw))
    kind = draw.any(words.weighted(_WORDING, "kinds with signs"))
    return in_sentence(draw, kind, held(draw, kind)) if draw.chance(0.25) else held(draw, kind)


def every(draw: Draw) -> list[Exchange]:
    """Every digit of one kind, or sign, for another; a sign is told by its name or as it is."""
    if draw.chance(0.4):
        y, z = draw.rng.sample("0123456789", 2)
        numbers = [str(draw.whole(1, draw.any((99, 99, 999, 99999)))) for _ in range(draw.whole(1, 6))]
        x = draw.any((" ", " ", ", ")).join(f"{one}{y}" if draw.chance(0.4) else one for one in numbers)
        if y not in x:
            return every(draw)
        return asked(draw, "swap_all", f"{y} -> {z}", x.replace(y, z), x=x, y=y, z=z)
    name, sign = draw.any(_SIGNS)
    other, new = ("space", " ") if draw.chance(0.15) else draw.any(_SIGNS)
    x = _with_signs(draw, sign)
    if sign not in x or sign == new or (new in x and new != " "):
        return every(draw)
    done, lead = " ".join(x.replace(sign, new).split()), f"{sign} -> {new.strip() or other}"
    if draw.chance(0.4):
        y, z = (f"{one}{'es' if one.endswith('sh') else 's'}" for one in (name, other))
        return asked(draw, "swap_signs", lead, done, x=x, y=y, z=z)
    y, z = draw.any((name, sign, f'"{sign}"')), draw.any((other, words.article(other)))
    z = draw.any((new, f'"{new}"')) if new != " " and (y != name or draw.chance(0.3)) else z
    return asked(draw, "swap_all", lead, done, x=x, y=y, z=z)


def signed(draw: Draw, way: str) -> list[Exchange]:
    """A text without its numbers or outer words, or with a sign or a few words more."""
    text = " ".join(draw.rng.sample(words.every_word(), draw.whole(1, 4))) if draw.chance(0.25) else sentence(draw)
    some = (text := text.rstrip(".!?")).split()
    if way == "no_numbers":
        for _ in range(draw.whole(1, 3)):
            some.insert(draw.whole(0, len(some)), str(draw.whole(1, draw.any((9, 99, 9999)))))
        done = " ".join(one for one in some if not one.isdigit())
        x = " ".join(some)
        return signed(draw, way) if re.search(r"\d", done) else asked(draw, way, "Without digits", done, x=x)
    if way == "no_end":
        k = min(draw.any((1, 1, 1, 2, 3)), len(some) - 1)
        if not k:
            return signed(draw, way)
        end = draw.any(("first", "last"))
        cut, rest = (some[:k], some[k:]) if end == "first" else (some[-k:], some[:-k])
        p = f"{end} word" if k == 1 else f"{end} {draw.any((k, words.spelled(k)))} words"
        return asked(draw, way, f"Without {' '.join(cut)}", " ".join(rest), x=in_quotes(draw, text), p=p)
    if way in ("ended", "begun", "both_ends", "wrapped"):
        name, sign = draw.any({"ended": _ENDS, "wrapped": _AROUND}.get(way, _AT_ENDS))
        half = len(sign) // 2
        lead, before, after = {
            "ended": (f"With {name}", "", sign), "begun": (f"{name} in front", sign, ""),
            "both_ends": (f"{name} at both ends", sign, sign), "wrapped": (f"In {name}", sign[:half], sign[half:]),
        }[way]  # fmt: skip
        return asked(draw, way, lead, before + text + after, x=in_quotes(draw, text), y=name)
    more = draw.any((phrase, some_text, word))(draw)
    done, place = (f"{text} {more}", "at the end") if way == "add_end" else (f"{more} {text}", "in front")
    return asked(draw, way, f"{more} {place}", done, x=text, y=in_quotes(draw, more))


def unsigned(draw: Draw) -> list[Exchange]:
    """A text without its signs: those after words, between the items of a list, or within numbers and words."""
    name, gone = draw.any(_GONE)
    style, end = draw.rng.random(), draw.any(("", "", ".", ".", ".", "!", "?"))
    sign = draw.any(gone)
    if name == "brackets":
        some = any_words(draw, 2, 7)
        text = " ".join(f"({one})" if at == 1 or draw.chance(0.2) else one for at, one in enumerate(some))
    elif style < 0.6 and '"' not in gone:
        text = _with_signs(draw, gone)
    else:
        text = sentence(draw).rstrip(".!?") + end
        some = text.split()
        for at in draw.rng.sample(range(len(some)), min(len(some), draw.any((1, 1, 2, 3)))):
            some[at] = f'"{some[at]}"' if sign == '"' else f"#{some[at]}" if sign == "#" else some[at] + draw.any(gone)
        text = " ".join(some)
    done = " ".join(text.translate({ord(one): None for one in gone}).split())
    if done == text or not done:
        return unsigned(draw)
    y = name.removesuffix("s") if len(gone) == 1 and text.count(gone) == 1 and draw.chance(0.7) else name
    return asked(draw, "strip_signs", f"Without {y}", done, x=text, y=y)


def marked(draw: Draw) -> list[Exchange]:
    """A word of a text between two signs; or a word that stands there twice, once."""
    some = sentence(draw).split()
    at = draw.whole(0, len(some) - 1)
    gone = _bare(some[at])
    if not gone or " ".join(some).count(gone) > 1:
        return marked(draw)
    if draw.chance(0.4):
        twice = [*some[:at], gone, *some[at:]]
        return asked(draw, "doubled", f"{gone} {gone} -> {gone}", " ".join(some), x=" ".join(twice))
    name, signs = draw.any(_AROUND)
    put = signs[: len(signs) // 2] + gone + signs[len(signs) // 2 :]
    done = " ".join(one.replace(gone, put) if here == at else one for here, one in enumerate(some))
    return asked(draw, "marked", f"{gone} -> {put}", done, x=" ".join(some), y=in_quotes(draw, gone), z=name)


def digits(draw: Draw) -> list[Exchange]:
    """The digits alone of a text that mixes them with letters, or the text without them."""
    # With more than one number in it, nothing parts them, lest it were asked how they stand.
    between = draw.any(("", "", "-", " "))
    own = [draw.any((draw.nonsense(2, 6), draw.any(words.WORDS))) for _ in range(draw.whole(1, 3))]
    own = [*draw.nonsense(2, 6)] if draw.chance(0.3) else own
    own += [] if between else [str(draw.whole(0, 9 if len(own) > 3 else 999)) for _ in own[: draw.whole(1, 4)]]
    text = between.join((*draw.rng.sample(own, len(own)), str(draw.whole(0, 9999))))
    kept = "".join(one for one in text if one.isdigit())
    left = "".join(one for one in text if not one.isdigit()).strip(" -")
    way, lead, done = draw.any((("only_digits", "The digits", kept), ("no_digits", "Without digits", left)))
    return asked(draw, way, lead, done, x=text)


def unspaced(draw: Draw) -> list[Exchange]:
    """A text with a sign in the place of each space, or nothing: as one name, letter by letter."""
    some = small_items(draw) if draw.chance(0.6) else sentence(draw).rstrip(".!?").split()[:5]
    if draw.chance(0.45):
        some = f"{' '.join(some[:-1])} {draw.any(SMALL)} {some[-1]}".split()
    name, sign = draw.any(words.pairs(_WORDING, "signs for spaces"))
    way = draw.any(("no_spaces", "spaces", "spaces", "spaces", "between" if sign else "no_spaces"))
    done = ("" if way == "no_spaces" else sign).join(" ".join(some).split())
    return [as_one(draw.asked(_WORDING, way, x=" ".join(some), z=name), done)]


def template(draw: Draw) -> list[Exchange]:
    """A text with places to fill, and what to put there: one that people have, or any sentence with places in it."""
    if draw.chance(0.6):
        text = draw.expand(draw.any(_WORDING["template"]))
    else:
        some = sentence(draw).split()
        names = draw.rng.sample(words.entries(_WORDING, "slots"), min(len(some), draw.any((1, 2, 2, 2, 3))))
        for at, slot in zip(draw.rng.sample(range(len(some)), len(names)), names, strict=True):
            some[at] = some[at].replace(_bare(some[at]), f"<{slot}>") if _bare(some[at]) else f"<{slot}>"
        text = " ".join(some)
    text = draw.any((text, text, f"{text} {sentence(draw)}", f"{sentence(draw)} {text}"))
    slots = list(dict.fromkeys(re.findall(r"<(\w+)>", text)))
    values = {slot: held(draw, slot) if slot in KINDS else word(draw) for slot in slots}
    mark: Callable[[str], str]
    mark = draw.any((str.upper, str.upper, *["[{}]".format] * 3, "<{}>".format, *["{{{}}}".format] * 3, "({})".format,
                     "_{}_".format, "{{{{{}}}}}".format))  # fmt: skip
    named = str if draw.chance(0.5) else mark
    way, told = draw.any(words.pairs(_WORDING, "ways to fill"))
    # Values without their names stand in the order of the places.
    order = slots if told == "{v}" else draw.rng.sample(slots, len(slots))
    between = draw.any((" ", " ", ", ", "\n") if "=" in told else (", ", ", ", " and ", " and ", "; ", "\n", " - "))
    facts = between.join(told.format(s=named(slot), v=values[slot]) for slot in order)
    shown = re.sub(r"<(\w+)>", lambda found: mark(found[1]), text)
    done = re.sub(r"<(\w+)>", lambda found: values[found[1]], text)
    lead = ", ".join(f"{mark(slot)} -> {value}" for slot, value in values.items())
    return asked(draw, way, lead, done, x=draw.any((shown, shown, f'"{shown}"')), z=facts)


def blanks(draw: Draw, way: str) -> list[Exchange]:
    """A sentence with one gap, or with two or three, and the words for them in their order."""
    some, blank = sentence(draw).split(), draw.any(words.entries(_WORDING, "gaps"))
    places = sorted(draw.rng.sample(range(len(some)), min(len(some), 1 if way == "gap" else draw.any((2, 2, 2, 3)))))
    values = [word(draw) for _ in places]
    if any(not _bare(some[at]) for at in places):
        return blanks(draw, way)
    shown, done = some[:], some[:]
    for at, value in zip(places, values, strict=True):
        bare = _bare(some[at])
        shown[at], done[at] = some[at].replace(bare, blank), some[at].replace(bare, value)
    told = [f'"{value}"' for value in values] if draw.chance(0.3) else values
    z = enumerated(told) if draw.chance(0.5) else draw.any((", ", " / ", "; ", " then ")).join(told)
    lead = ", ".join(f"{blank} -> {value}" for value in values)
    return asked(draw, way, lead, " ".join(done), x=" ".join(shown), z=z)


def each_word(draw: Draw) -> list[Exchange]:
    """Something before or after every word, or every word twice."""
    some, between = any_words(draw, 2, 6), draw.any((" ", " ", ", "))
    way, put = draw.any(("each_after", "each_after", "each_before", "each_before", "each_twice")), draw.any(_PUT)
    name = draw.any((put[0], put[0], f'"{put[1]}"')) if put[0] else in_quotes(draw, put[1])
    made = {"each_after": "{one}{put}", "each_before": "{put}{one}", "each_twice": "{one} {one}"}[way]
    done = between.join(made.format(one=one, put=put[1]) for one in some)
    lead = {"each_after": f"{put[1]} after each", "each_before": f"{put[1]} before each"}.get(way, "Each twice")
    return asked(draw, way, lead, done, x=between.join(some), z=name)


_OTHERS: dict[str, Callable[[Draw], list[Exchange]]] = {
    "strip_signs": unsigned, "spaces": unspaced, "template": template, "every": every,
    "each_word": each_word, "marked": marked, "digits": digits,
}  # fmt: skip
_OF_WORDS = ("swap", "omit", "insert", "insert_sign", "exchange", "exchange_ends", "exchange_both", "two")


def edited(draw: Draw) -> list[Exchange]:
    """One change of a text."""
    way = draw.any(words.weighted(_WORDING, "ways to edit"))
    if way in _OTHERS:
        return _OTHERS[way](draw)
    return (swapped if way in _OF_WORDS else blanks if way in ("gap", "blanks") else signed)(draw, way)
