"""A text of the user's with something changed: a word or a sign for another, left out, put in; a template filled.

The reply first says what becomes what, so that the copying after it has only that to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.text import parts
from assets.recipe.skills.text.parts import KINDS, SMALL, asked, held, in_sentence, line, sentence
from assets.recipe.user_words import any_words, in_quotes, numbered, phrase, some_text, word, worked
from assets.recipe.words import read_wording

_WORDING = read_wording("text/copying")
_FORMS, _TITLES = words.entries(_WORDING, "forms"), words.entries(_WORDING, "titles")
_QUALITIES, _NUMBERED = (words.entries(_WORDING, name) for name in ("qualities", "numbered kinds"))
_ENDS, _AT_ENDS, _AROUND = (words.pairs(_WORDING, name) for name in ("ends", "signs at ends", "signs around"))
# What is put beside every word: its name, if it is a sign, and the text.
_PUT = words.pairs(_WORDING, "put")


def _some(draw: Draw, listed: bool = True) -> tuple[list[str], str]:
    """Words of a sentence or, if `listed`, of a list, and what stands between them."""
    if not listed or draw.chance(0.75):
        return (sentence(draw) if draw.chance(0.75) else draw.own(lambda: line(draw))).split(), " "
    items = [*any_words(draw, 2, 6), *([draw.any(SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    return items, draw.any((" ", " ", ", "))


def _bare(item: str) -> str:
    return item.strip(",.!?:;\"'")


def _whole(gone: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(gone)}(?!\w)")


def _another(draw: Draw, gone: str, kind: str) -> str:
    """The substitute for a word: another of its kind, itself in another form, or any word or two."""
    if gone.isdigit():
        return draw.any((str(draw.whole(1, 99 if len(gone) < 3 else 9999)), words.spelled(int(gone))))
    if kind and draw.chance(0.6):
        return draw.any(words.SORTS[kind])
    if draw.chance(0.1):
        return gone + draw.any(_FORMS) if draw.chance(0.7) or len(gone) < 3 else gone[0] + gone[2:]
    return f"{word(draw)} {word(draw)}" if draw.chance(0.15) else word(draw)


def swapped(draw: Draw, way: str) -> list[Exchange]:
    """A word of a text for another, or left out; two words for two, or each for the other."""
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
    whole, y, z = _whole(gone), in_quotes(draw, gone), in_quotes(draw, new)
    if way == "omit":
        done = between.join(item for item in items if _bare(item) != gone)
        return asked(draw, way, f"Without {gone}", done, x=text, y=y) if done else swapped(draw, way)
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
    become = {gone: new, other: word(draw)} if way == "two" else {gone: other, other: gone}
    done = re.compile("|".join(_whole(one).pattern for one in become)).sub(lambda found: become[found[0]], text)
    lead = ", ".join(f"{one} -> {to}" for one, to in become.items())
    return asked(draw, way, lead, done, x=text, y=y, z=z, v=in_quotes(draw, other), w=in_quotes(draw, become[other]))


def of_kind(draw: Draw) -> list[Exchange]:
    """A part of a text, told by its kind or the thing it is of, for another; or a mistyped word for the right one."""
    if draw.chance(0.3):
        right = draw.any([*map(_bare, (done := sentence(draw)).split())])
        at = draw.whole(0, max(0, len(right) - 2))
        wrong = right[:at] + right[at : at + 2][::-1] + right[at + 2 :]
        if not right.isalpha() or done.count(right) > 1 or wrong == right:
            return of_kind(draw)
        return asked(draw, "swap_typo", f"{wrong} -> {right}", done, x=done.replace(right, wrong), z=right, y=wrong)
    if draw.chance(0.35):
        thing, (old, new) = draw.any(words.WORDS), draw.rng.sample(draw.any((words.COLOURS, _QUALITIES)), 2)
        way, x, y = "swap_kind", in_sentence(draw, "attribute", f"{old} {thing}"), thing
    else:
        kind = draw.any(tuple(KINDS))
        old, new, y = held(draw, kind), held(draw, kind), draw.any(KINDS[kind])
        way, x = "swap_new" if kind in _NUMBERED and draw.chance(0.4) else "swap_kind", in_sentence(draw, kind, old)
    if old == new or x.count(old) > 1 or (way == "swap_new" and len(re.findall(r"\d+", x.replace(old, "")))):
        return of_kind(draw)
    return asked(draw, way, f"{old} -> {new}", x.replace(old, new), x=x, y=y, z=new)


def inserted(draw: Draw, way: str) -> list[Exchange]:
    """Another word or signs beside a word of a text, told as it is or by its kind; or the word twice; or but once."""
    some = any_words(draw, 2, 5) if draw.chance(0.3) else _some(draw, listed=False)[0]
    at, new = draw.whole(0, len(some) - 1), draw.any((word(draw), word(draw), draw.any(SMALL)))
    gone, beside, text = _bare(some[at]), _bare(some[at - 1]), " ".join(some)
    kind = next((kind for kind, pool in words.SORTS.items() if gone in pool), "")
    y, side = in_quotes(draw, gone), draw.any(("before", "before", "after", "after", "in front of", "behind"))
    apart = way in ("insert_sign", "insert_between") and (not at or some[at - 1 : at + 1] != [beside, gone])
    if not gone or text.count(gone) != 1 or apart:
        return inserted(draw, way)
    if kind and way in ("insert", "marked") and sum(one in words.SORTS[kind] for one in map(_bare, some)) == 1:
        y, side, new = f"the {kind}", "before", draw.any(_TITLES) if kind == "name" else new
    z, put = in_quotes(draw, new), f"{gone} {new}" if side in ("after", "behind") else f"{new} {gone}"
    if way == "insert_sign":
        (z, sign), side = draw.any(_ENDS), draw.any(("after", "after", "behind"))
        put = f"{gone}{sign}"
    elif way == "marked":
        (z, signs), place = draw.any(_AROUND), {0: "first", len(some) - 1: "last"}.get(at)
        put = signs[: len(signs) // 2] + gone + signs[len(signs) // 2 :]
        way, y = ("marked_place", f"the {place} word") if place and draw.chance(0.6) else (way, y)
    elif way in ("doubled", "twice_there"):
        put = f"{gone} {gone}"
    elif way == "insert_between":
        put, way = f"{new} {gone}", "insert_within" if len(some) == 2 else way
    y = y.lower() if draw.chance(0.2) else y
    done = _whole(gone).sub(lambda _: put, text)
    if way == "doubled":
        return asked(draw, way, f"{put} -> {gone}", text, x=done)
    return asked(draw, way, f"{gone} -> {put}", done, x=text, y=y, z=z, s=side, v=beside)


def signed(draw: Draw, way: str) -> list[Exchange]:
    """A text without its outer words, or with a sign or a few words more."""
    text = " ".join(draw.rng.sample(words.every_word(), draw.whole(1, 4))) if draw.chance(0.25) else sentence(draw)
    some = (text := text.rstrip(".!?")).split()
    if way == "no_end":
        if len(some) < 3:
            return signed(draw, way)
        k, at = min(draw.any((1, 1, 1, 2, 3)), len(some) - 1), draw.whole(1, min(len(some), 7) - 2)
        count = "word" if k == 1 else f"{draw.any((k, words.spelled(k)))} words"
        nth = f"{draw.any((words.ORDINALS[at + 1], words.nth(at + 1)))} word"
        p, out, left = draw.any((
            (f"first {count}", f"Out: {numbered(some[:k])}", some[k:]),
            (f"last {count}", f"Out, from the end: {numbered(some[::-1][:k])}", some[:-k]),
            (nth, f"Out, word {at + 1}: {numbered(some[: at + 1])}", some[:at] + some[at + 1 :]),
        ))  # fmt: skip
        return [worked(draw.asked(_WORDING, way, x=in_quotes(draw, text), p=p), out, " ".join(left))]
    if way in ("ended", "begun", "both_ends", "wrapped"):
        name, sign = draw.any({"ended": _ENDS, "wrapped": _AROUND}.get(way, _AT_ENDS))
        half, name = len(sign) // 2, name.replace("a ", "the ", 1) if draw.chance(0.15) else name
        lead, before, after = {
            "ended": (f"With {name}", "", sign), "begun": (f"{name} in front", sign, ""),
            "both_ends": (f"{name} at both ends", sign, sign), "wrapped": (f"In {name}", sign[:half], sign[half:]),
        }[way]  # fmt: skip
        return asked(draw, way, lead, before + text + after, x=in_quotes(draw, text), y=name)
    more = draw.any((phrase, some_text, word))(draw)
    done, place = (f"{text} {more}", "at the end") if way == "add_end" else (f"{more} {text}", "in front")
    return asked(draw, way, f"{more} {place}", done, x=text, y=in_quotes(draw, more))


def template(draw: Draw, way: str) -> list[Exchange]:
    """A text with places to fill, and what to put there: one that people have, or any sentence with places or gaps."""
    gap = "" if way == "template" else draw.any(words.entries(_WORDING, "gaps"))
    if not gap and draw.chance(0.75):
        text = draw.expand(draw.any(_WORDING["template"]))
    else:
        pools = words.entries(_WORDING, "slots"), tuple(KINDS) if way == "gap" else words.WORDS
        some, pool = sentence(draw).split(), draw.any(pools)
        names = draw.rng.sample(pool, min(len(some), 1 if way == "gap" else draw.any((1, 2, 2, 2, 3))))
        for at, slot in zip(draw.rng.sample(range(len(some)), len(names)), names, strict=True):
            some[at] = some[at].replace(_bare(some[at]), f"<{slot}>") if _bare(some[at]) else f"<{slot}>"
        text = " ".join(some)
    text = draw.any((text, text, text, text, f"{text} {sentence(draw)}", f"{sentence(draw)} {text}"))
    slots = list(dict.fromkeys(re.findall(r"<(\w+)>", text)))
    values = {slot: held(draw, slot) if slot in KINDS and way != "blanks" else word(draw) for slot in slots}
    shape = gap or draw.any(words.entries(_WORDING, "marks of places"))
    mark: Callable[[str], str] = str.upper if shape == "ANY" else lambda slot: shape.replace("*", slot)
    named = str if draw.chance(0.5) else mark
    kind = KINDS.get(slots[0], ()) if way == "gap" else ()
    asks, told = ("gap_kind" if kind else way, "{v}") if gap else draw.any(words.pairs(_WORDING, "ways to fill"))
    # Values without their names stand in the order of the places.
    order = slots if told == "{v}" else draw.rng.sample(slots, len(slots))
    between = draw.any((" ", " ", ", ", "\n") if "=" in told else (", ", ", ", " and ", " and ", "; ", "\n", " - "))
    facts = between.join(told.format(s=named(slot), v=values[slot]) for slot in order)
    shown = re.sub(r"<(\w+)>", lambda found: mark(found[1]), text)
    done = re.sub(r"<(\w+)>", lambda found: values[found[1]], text)
    lead = ", ".join(f"{mark(slot)} -> {value}" for slot, value in values.items())
    return asked(draw, asks, lead, done, x=draw.any((shown, shown, f'"{shown}"')), z=facts, k=[*kind, ""][0])


def each_word(draw: Draw) -> list[Exchange]:
    """Something before or after every word, or every word twice."""
    way, put = draw.any((*["each_after"] * 4, "each_before", "each_before", "each_twice")), draw.any(_PUT)
    some, between = any_words(draw, 2, 6), draw.any((" ", " ", " ", " " if put[1] in ",;" else ", "))
    name = draw.any((put[0], put[0], f'"{put[1]}"')) if put[0] else in_quotes(draw, put[1])
    made = {"each_after": "{one}{put}", "each_before": "{put}{one}", "each_twice": "{one} {one}"}[way]
    done = between.join(made.format(one=one, put=put[1]) for one in some)
    lead = {"each_after": f"{put[1]} after each", "each_before": f"{put[1]} before each"}.get(way, "Each twice")
    if way == "each_after" and draw.chance(0.5):
        way, lead, done = "all_but_last", f"{lead} but {some[-1]}", done.removesuffix(put[1])
    return asked(draw, way, lead, done, x=between.join(some), z=name)


_OTHERS: dict[str, Callable[[Draw], list[Exchange]]] = {
    "strip_signs": parts.unsigned, "spaces": parts.unspaced, "every": parts.every, "digits": parts.digits,
    "each_word": each_word, "swap_kind": of_kind,
}  # fmt: skip
_OF_WAYS = {
    way: make for make, ways in (
        (swapped, ("swap", "omit", "exchange", "exchange_ends", "exchange_both", "two")),
        (inserted, ("insert", "insert_sign", "insert_between", "marked", "doubled", "twice_there")),
        (template, ("template", "gap", "blanks")),
    ) for way in ways
}  # fmt: skip


def edited(draw: Draw) -> list[Exchange]:
    """One change of a text."""
    way = draw.any(words.weighted(_WORDING, "ways to edit"))
    return _OTHERS[way](draw) if way in _OTHERS else _OF_WAYS.get(way, signed)(draw, way)
