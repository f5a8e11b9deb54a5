"""More kinds of questions about words, letters, lists and forms."""

from __future__ import annotations

import json
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exact, exactly_in, mentions, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.letters import spaced
from assets.recipe.skills.more_words import some_text
from assets.recipe.skills.user_words import any_items, any_words, handed_back, marked, phrase, typed, word
from assets.recipe.words import KINDS, read_wording

SAID = read_wording("kinds")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SORTS = {"animal": words.ANIMALS, "city": words.CITIES, "job": words.JOBS, "colour": words.COLOURS,
          "fruit": KINDS["fruits"], "vegetable": KINDS["vegetables"], "tool": KINDS["tools"],
          "country": KINDS["countries"], "instrument": KINDS["instruments"], "flower": KINDS["flowers"],
          "piece of furniture": KINDS["furniture"], "tree": KINDS["trees"], "month": KINDS["months"],
          "day of the week": KINDS["days"], "sport": KINDS["sports"], "food": words.FOODS}  # fmt: skip
_OPPOSITES = tuple(pair.split("/") for pair in SAID["opposites"][0].split())
_OWNED = tuple(SAID["owned"][0].split(" / "))
_SIGNS = tuple(line.split("=") for line in SAID["signs"][0].split(" / "))


def back(draw: Draw, way: str, answer: str, **fields: object) -> list[Exchange]:
    """The question asked in this way, and the answer handed back."""
    return [handed_back(draw, draw.ask(SAID[way], **fields), answer)]


def worked(draw: Draw, way: str, before: str, answer: str, **fields: object) -> list[Exchange]:
    """The question asked in this way, what leads up to the answer, and the answer."""
    return [Exchange(draw.ask(SAID[way], **fields), f"{before}. So {answer}", exactly_in(answer))]


def yes_or_no(draw: Draw, way: str, before: str, true: bool, **fields: object) -> list[Exchange]:
    """A question that wants yes or no, with what leads up to it."""
    answer = "yes" if true else "no"
    ask = draw.ask(SAID[way], **fields) + draw.expand(draw.any(SAID["yes or no"]))
    return [Exchange(ask, f"{before}. So {answer}.", exactly_in(f"{answer}."))]


def _word(draw: Draw) -> str:
    style = draw.rng.random()
    return draw.any(words.every_word() if style < 0.7 else words.WORDS) if style < 0.9 else draw.nonsense()


def _shown(draw: Draw, text: str) -> str:
    return draw.any((text, text, f'"{text}"', f"'{text}'"))


def letters(draw: Draw) -> list[Exchange]:
    """Letters left out, changed and put in order; names for programs; the alphabet."""
    own = _word(draw)
    shown, way = _shown(draw, own), draw.any(_LETTER_WAYS)
    if way in ("follows", "precedes", "range"):
        at = draw.whole(1, 24)
        letter, upper = _ALPHABET[at], draw.chance(0.5)
        if way == "range":
            end = draw.whole(at + 1, min(25, at + 9))
            return back(draw, way, ", ".join(_ALPHABET[at : end + 1]), x=letter, y=_ALPHABET[end])
        answer = _ALPHABET[at + (1 if way == "follows" else -1)]
        case = str.upper if upper else str
        return [exact(draw.ask(SAID[way], x=case(letter)), f"The answer is {case(answer)}.")]
    if way in ("no_vowels", "only_vowels", "drop_first", "drop_last", "in_order", "middle_out"):
        done = {
            "no_vowels": [one for one in own if one not in "aeiou"], "only_vowels": [o for o in own if o in "aeiou"],
            "drop_first": list(own[1:]), "drop_last": list(own[:-1]), "in_order": sorted(own),
            "middle_out": [one for one in own if one != own[0]],
        }[way]  # fmt: skip
        if not done:
            return letters(draw)
        answer = ", ".join(done) if way == "only_vowels" else "".join(done)
        told = spaced(own) if way == "only_vowels" else f"{spaced(own)}, {spaced(''.join(done))}"
        return [exact(draw.ask(SAID[way], x=shown, y=own[0]), f"{told}: {answer}")]
    if way == "repeated":
        own = draw.any([w for w in words.every_word()[:: draw.whole(3, 9)] if len(w) - len(set(w)) == 1] or ["paper"])
        twice = next(one for one in own if own.count(one) == 2)
        return worked(draw, way, spaced(own), f"{twice}.", x=_shown(draw, own))
    if way in ("snake", "kebab", "camel", "pascal", "glue"):
        items = [_word(draw) for _ in range(draw.any((2, 3, 3, 4)))]
        done = {"snake": "_".join(items), "kebab": "-".join(items), "glue": "".join(items),
                "camel": items[0] + "".join(map(str.title, items[1:])), "pascal": "".join(map(str.title, items))}[way]
        given = draw.any((" ".join(items), " ".join(items), " ".join(items).title()))
        if way in ("snake", "kebab") and draw.chance(0.25):
            given = items[0] + "".join(map(str.title, items[1:]))
        return back(draw, way, done, x=given if way != "glue" else draw.any((", ", " ")).join(items))
    if way == "swapped":
        text = draw.any((own.upper(), own.title(), own[0] + own[1:].upper(), "".join(
            draw.any((one, one.upper())) for one in own)))  # fmt: skip
        return back(draw, way, text.swapcase(), x=_shown(draw, text))
    if way in ("first_capital", "turned_words"):
        text = some_text(draw) + draw.any(("", f" {_word(draw)}", f" {_word(draw)} {_word(draw)}"))
        done = text[:1].upper() + text[1:] if way == "first_capital" else " ".join(text.split()[::-1])
        return back(draw, way, done, x=text)
    if way == "code":
        ask, reply = draw.any(
            (
                (f'len("{own}")', f"{spaced(own)} has {len(own)} letters."), (f'"{own}"[::-1]', ""),
                (f'"{own}".upper()', f"Here you go: {own.upper()}"), (f'lower("{own.upper()}")', f"Sure: {own}"),
                (f'upper("{own}")', f"Here you go: {own.upper()}"),
            )
        )  # fmt: skip
        reply = reply or f"{spaced(own)}, {spaced(own[::-1])}: {own[::-1]}"
        return [exact(ask + draw.any(("", " = ?", "?", " ->")), reply)]
    if way == "nth":
        at = draw.whole(1, min(6, len(own)))
        told = ", ".join(f"{n} {one}" for n, one in enumerate(own, 1))
        place = draw.any((f"{at}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(at, 'th') }", words.ORDINALS[at]))
        return worked(draw, way, told, f"{own[at - 1]}.", x=shown, p=place)
    between, sign = draw.any((("a hyphen", "-"), ("a dash", "-"), ("a dot", "."), ("a space", " ")))
    return back(draw, way, sign.join(own), x=shown, s=between)


_LETTER_WAYS = (*["follows", "precedes", "range"], *["no_vowels", "drop_first", "in_order", "nth"] * 2, "only_vowels",
                "drop_last", "middle_out", "repeated", *["snake", "camel"] * 2, "kebab", "pascal", *["glue", "swapped"] * 2,
                "first_capital", "turned_words", "code", "code", "put_between")  # fmt: skip


def lists(draw: Draw) -> list[Exchange]:
    """Places in a list, changes of it, what is in it, and kinds of things."""
    way = draw.any(_LIST_WAYS)
    if way in ("odd_one", "of_kind"):
        sort, other = draw.rng.sample(sorted(_SORTS), 2)
        one, (*some, spare) = draw.any(_SORTS[other]), draw.rng.sample(_SORTS[sort], 3)
        if one in _SORTS[sort] or set(some) & set(_SORTS[other]) or {sort, other} == {"fruit", "food"}:
            return lists(draw)
        if way == "of_kind":
            items = [spare, *draw.rng.sample(_SORTS[other], 2)]
            answer, asked = spare, sort
        else:
            items, answer, asked = [*some, one], one, sort
        draw.rng.shuffle(items)
        told = ", ".join(f"{item} {'yes' if (item == one) != (way == 'of_kind') and item == answer else 'no'}" for item in items)
        return worked(draw, way, told, f"{answer}.", x=typed(draw, items), k=asked, a=words.article(asked))
    items = any_items(draw, 3, 7)
    if " " in "".join(items) or draw.chance(0.7):
        x = draw.any((", ", ", ", ", ", "; ")).join(items)
    else:
        x = " ".join(items)
    if way == "has":
        asked = draw.any(items) if draw.chance(0.5) else word(draw)
        return yes_or_no(draw, way, ", ".join(items), asked in items, x=x, y=_shown(draw, asked))
    if way == "below":
        values = draw.rng.sample(range(1, 60), draw.whole(3, 7))
        k = draw.any(values) + draw.any((0, 0, 1))
        keep = draw.any(("below", "above"))
        told = ", ".join(f"{n} {'yes' if (n < k if keep == 'below' else n > k) else 'no'}" for n in values)
        kept = [n for n in values if (n < k if keep == "below" else n > k)] or values[:0]
        if not kept:
            return lists(draw)
        ask = draw.ask(SAID[keep], x=draw.any((", ", " ")).join(map(str, values)), k=k)
        answer = ", ".join(map(str, kept))
        return [Exchange(ask, f"{told}. So {answer}", exactly_in(answer))]
    at, other, new = draw.whole(0, len(items) - 1), draw.whole(0, len(items) - 2), word(draw)
    if way in ("at_place", "at_index"):
        told = ", ".join(f"{n} {item}" for n, item in enumerate(items, int(way == "at_place")))
        place = words.ORDINALS[at + 1] if way == "at_place" else at
        return worked(draw, way, told, items[at], x=x, p=place)
    if way == "between":
        if len(items) < 3 or other > len(items) - 3:
            return lists(draw)
        return back(draw, way, items[other + 1], x=x, y=items[other], z=items[other + 2])
    swapped = [*items]
    swapped[other], swapped[other + 1] = items[other + 1], items[other]
    first, second = words.ORDINALS[other + 1], words.ORDINALS[other + 2]
    name, sign = draw.any(_SIGNS)
    done = {
        "replace_item": ", ".join(new if item == items[at] else item for item in items), "swap_two": ", ".join(swapped),
        "every_other": ", ".join(items[::2]), "to_front": ", ".join([new, *items]), "to_end": ", ".join([*items, new]),
        "first_two": ", ".join(items[:2]), "last_two": ", ".join(items[-2:]), "but_first": ", ".join(items[1:]),
        "glued": sign.join(items), "move_front": ", ".join([items[at], *items[:at], *items[at + 1 :]]),
    }[way]  # fmt: skip
    quoted = way in ("to_front", "to_end", "replace_item")
    return back(draw, way, done, x=x, y=_shown(draw, items[at] if way in ("replace_item", "move_front") else new),
                z=_shown(draw, new) if quoted else new, p=first, q=second, s=name)  # fmt: skip


_LIST_WAYS = (*["odd_one", "of_kind", "has", "below", "at_place", "at_place", "between", "replace_item", "swap_two"],
              "at_index", "every_other", "to_front", "to_end", "first_two", "last_two", "but_first", "glued", "glued",
              "move_front")  # fmt: skip


def echo(draw: Draw) -> list[Exchange]:
    """What alone is to be answered, what was just told, and parts of a text."""
    way = draw.any(("alone", "alone", "alone", "told_then", "told_two", "names", "greet", "twice", "part", "part", "part"))
    n, m = draw.names(2)
    if way == "part":
        return _part(draw)
    if way in ("told_then", "told_two"):
        thing, other = draw.rng.sample(_OWNED, 2)
        value, second = (word(draw) for _ in range(2)) if draw.chance(0.5) else (n, m)
        which, answer = (thing, value) if way == "told_then" or draw.chance(0.5) else (other, second)
        ask = draw.ask(SAID[way], t=thing, u=other, x=_shown(draw, value), y=second, w=which)
        return [Exchange(ask, f"Your {which} is {answer}.", mentions(answer), copied=(answer,))]
    if way == "greet":
        said = draw.any(("hello", "gm", "good morning", "hi", "thank you", "happy birthday", "good night", "welcome"))
        reply = f"{said.capitalize()}, {n}!"
        return [Exchange(draw.ask(SAID[way], g=said, n=n), reply, mentions(said, n), copied=(n,))]
    if way == "names":
        return [Exchange(draw.ask(SAID[way], n=n), f"Your name is {n}.", mentions(n), copied=(n,))]
    text = draw.any((word(draw), word(draw), phrase(draw), some_text(draw), str(draw.whole(2, 9999)), draw.jumble()))
    if way == "twice":
        return back(draw, way, f"{text}, {text}", x=_shown(draw, text))
    return back(draw, way, text, x=_shown(draw, text) if draw.chance(0.4) else text)


def _part(draw: Draw) -> list[Exchange]:
    """One part of a text: what stands in quotes or brackets, an address, the last sentence."""
    way = draw.any(("in_quotes", "in_brackets", "email", "last_sentence", "first_sentence", "number_in"))
    some = [some_text(draw) for _ in range(3)]
    part = draw.any((phrase(draw), some_text(draw), word(draw)))
    if way == "email":
        part = f"{draw.name().lower()}@{word(draw).lower().replace(' ', '')}.{draw.any(('com', 'org', 'example', 'net'))}"
        x = draw.any((f"Write to {part} {some[0]}.", f"{some[0]} {part} {some[1]}", f"Mail {part}, {some[0]}"))
    elif way == "number_in":
        part = str(draw.whole(2, 9999))
        x = f"{some[0]} {part} {some[1]}"
    elif way in ("last_sentence", "first_sentence"):
        told = [one[0].upper() + one[1:] for one in some[: draw.whole(2, 3)]]
        x, part = ". ".join(told) + ".", told[-1 if way == "last_sentence" else 0]
    else:
        sign = {"in_brackets": "({})", "in_quotes": draw.any(('"{}"', "'{}'"))}[way]
        around = draw.any((("", ""), (some[0] + " ", " " + some[1]), (some[0] + " ", "")))
        x = around[0] + sign.format(part) + around[1]
    return back(draw, way, part, x=x)


def formats(draw: Draw) -> list[Exchange]:
    """Other forms, one form out of another, and JSON with more in it than names."""
    way = draw.any(_FORM_WAYS)
    items, key, other = any_words(draw, 2, 5), draw.any(words.every_word()), draw.any(words.every_word())
    value: object = draw.any((draw.whole(0, 500), word(draw), draw.name()))
    x = typed(draw, items) if draw.chance(0.3) else draw.any((", ", ", ", "; ", " ")).join(items)
    if way in _BLOCKS:
        return _in_json(draw, way)
    done = {
        "boxes": marked(items, "- [ ] "), "pipes": "|".join(items), "yaml_list": f"{key}:\n" + marked(items),
        "lines": marked(items, ""), "commas_only": ",".join(items), "dashes": marked(items), "steps": marked(items, "1."),
        "semicolons": "; ".join(items), "heading": f"## {key} {other}", "stars": marked(items, "* "),
    }  # fmt: skip
    if way == "heading":
        level, text = draw.whole(1, 4), draw.any((phrase(draw), some_text(draw), word(draw)))
        done[way] = "#" * level + f" {text}"
        return back(draw, way, done[way], x=_shown(draw, text), k=level)
    if way in ("yaml", "assigned"):
        sign, pairs = (": ", ": ") if way == "yaml" else ("=", "="), {}
        for _ in range(draw.any((1, 2, 2, 3))):
            pairs[draw.any(words.every_word())] = draw.any((str(draw.whole(1, 9999)), _word(draw), draw.name()))
        between = draw.any((" is ", " ", "=", ": ", " = "))
        told = draw.any((", ", ", ", " and ", "; ")).join(f"{k}{between}{v}" for k, v in pairs.items())
        return [exact(draw.ask(SAID[way], x=told), "\n".join(f"{k}{sign[0]}{v}" for k, v in pairs.items()))]
    if way in ("list_to_line", "csv_to_list"):
        told = draw.any((" ", "\n")).join(f"- {item}" for item in items) if way == "list_to_line" else ",".join(items)
        return [exact(draw.ask(SAID[way], x=told), ", ".join(items) if way == "list_to_line" else marked(items))]
    if way in ("csv_row", "csv_rows"):
        heads = draw.rng.sample(words.every_word(), draw.any((2, 2, 3)))
        rows = [[draw.any((word(draw), draw.name(), str(draw.whole(1, 300)))) for _ in heads]
                for _ in range(draw.any((1, 1, 2, 3)))]  # fmt: skip
        if way == "csv_row":
            row = [one for one in rows[0]]
            return back(draw, way, ",".join(row), x=draw.any((", ", " and ", ", ")).join(row))
        told = draw.any((" and ", ", ", "; ", ", then ")).join(draw.any((" ", ", ", " and ")).join(row) for row in rows)
        h = draw.any((",", ",", ", ", " and ")).join(heads)
        return [exact(draw.ask(SAID[way], h=h, x=told), "\n".join(",".join(row) for row in (heads, *rows)))]
    if way in ("table_told", "csv_to_table"):
        heads = [head.title() for head in draw.rng.sample(words.every_word(), 2)]
        rows = [[first, draw.any((_word(draw), str(draw.whole(1, 99))))] for first in any_words(draw, 1, 4)]
        joint = draw.any((" has ", " is ", " has ", " costs ", " ", " gets ", ": ")) if way == "table_told" else ","
        told = draw.any((", ", ", ", " and ", "; ")).join(joint.join(row) for row in rows)
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * 2, *rows))
        h = ",".join(heads) if way == "csv_to_table" else draw.any((" and ", ", ", " | ")).join(heads)
        return [exact(draw.ask(SAID[way], h=h, x=told), table)]
    return [exact(draw.ask(SAID[way], x=x, y=key), done[way])] if "\n" in done[way] else back(draw, way, done[way], x=x)


def _value(draw: Draw, word_only: bool = False) -> object:
    style = draw.rng.random()
    if style < 0.55 or word_only:
        return draw.any((word(draw), word(draw), draw.name(), phrase(draw)))
    return draw.whole(0, draw.any((20, 99, 2030))) if style < 0.88 else draw.any((True, False))


def _json_told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _in_json(draw: Draw, way: str) -> list[Exchange]:
    keys = draw.rng.sample(words.every_word(), 3)
    found = {key: _value(draw) for key in keys[: draw.any((1, 2, 2, 3))]}
    key, values = keys[0], draw.rng.sample(range(0, 200), draw.whole(2, 6))
    if way == "looked_up":
        key = draw.any(list(found))
        return back(draw, way, _json_told(found[key]), x=json.dumps(found, ensure_ascii=False), y=_shown(draw, key))
    fact: object = found
    fields: dict[str, object] = {"x": "", "y": key, "z": ""}
    style = draw.any((("{k} set to {v}", " and "), ('"{k}" is {v}', ", "), ("{k}={v}", ", "), ("{k} {v}", ", "),
                      ("key {k} with {v}", " and "), ("{k} is {v}", " and "), ("{k}: {v}", ", ")))  # fmt: skip
    quote = '"{}"' if draw.chance(0.4) else "{}"
    told = style[1].join(
        style[0].format(k=k, v=quote.format(v) if isinstance(v, str) else json.dumps(v)) for k, v in found.items()
    )
    fields["x"] = told
    if way == "number_array":
        fact, fields["x"] = values, draw.any((", ", ", ", " ")).join(map(str, values))
        if draw.chance(0.25):
            fact = sorted(values)
            fields["x"] = f"{fields['x']}, sorted"
    elif way == "empty":
        fact = {key: []}
    elif way == "under_key":
        items = any_words(draw, 2, 4)
        fact, fields["x"] = {key: items}, ", ".join(items)
    elif way == "nested":
        inner = {k: v for k, v in found.items() if k != key} or {keys[1]: _value(draw)}
        fact = {key: inner}
        fields["x"] = draw.any((" and ", ", ")).join(f"{k} {quote.format(v) if isinstance(v, str) else json.dumps(v)}"
                                                     for k, v in inner.items())  # fmt: skip
    elif way == "several":
        fact = [{key: one} for one in values[:3]]
        fields["x"] = ", ".join(map(str, values[:3]))
    elif way == "json_changed":
        key = draw.any(list(found))
        new = _value(draw)
        fields = {"x": json.dumps(found, ensure_ascii=False), "y": key, "z": _json_told(new)}
        fact = {**found, key: new}
    wanted = json.loads(json.dumps(fact))

    def check(reply: str) -> bool:
        try:
            return bool(json.loads(reply.split("```json")[-1].split("```")[0]) == wanted)
        except ValueError:
            return False

    text = json.dumps(fact, indent=2 if isinstance(fact, dict) and way != "empty" else None, ensure_ascii=False)
    return [Exchange(draw.ask(SAID[way], **fields), f"```json\n{text}\n```", check)]


_BLOCKS = ("looked_up", "number_array", "empty", "under_key", "nested", "several", "json_changed", "object_set")
_FORM_WAYS = (*_BLOCKS, "object_set", "object_set", "number_array", "boxes", "pipes", "yaml", "yaml_list", "assigned",
              "lines", "lines", "commas_only", "dashes", "steps", "semicolons", "heading", "list_to_line", "csv_to_list",
              *["csv_row", "csv_rows", "table_told"] * 2, "csv_rows", "csv_to_table")  # fmt: skip


def patterns(draw: Draw) -> list[Exchange]:
    """A pattern shown on two or three, to be gone on with."""
    way = draw.any(tuple(_PATTERNS))
    make, count = _PATTERNS[way], draw.any((2, 2, 3))
    sources: list[str] = []
    while len(sources) < count + 1:
        one = str(draw.whole(1, 20)) if way in ("next", "double") else _word(draw)
        if one not in sources and len(one) > 1 or one.isdigit() and one not in sources:
            sources.append(one)
    pairs = [(one, make(one)) for one in sources]
    if way == "opposite":
        pairs = [(one, other) for one, other in draw.rng.sample(_OPPOSITES, count + 1)]
    shape, join = draw.any((("{a} -> {b}", ", "), ("{a} => {b}", ", "), ("{a}: {b}", ", "), ("{a} -> {b}", "; "),
                            ("{a}/{b}", ", "), ("{a} becomes {b}", ". "), ("Input: {a} Output: {b}", ". "),
                            ("in: {a} out: {b}", "; "), ("{a}:{b}", " "), ("{a} = {b}", "\n")))  # fmt: skip
    told = join.join(shape.format(a=a, b=b) for a, b in pairs[:-1]) + join
    source, answer = pairs[-1]
    end = draw.any((shape.format(a=source, b="").rstrip(), shape.format(a=source, b="?")))
    if "becomes" in shape:
        end = draw.any((f"What does {source} become?", f"{source} becomes", f"And {source} becomes?"))
    ask = draw.any(("", "", "", "Follow the pattern. ", "Go on: ", "What comes next? ", "Complete: ")) + told + end
    if way == "reverse":
        return [exact(ask, f"{spaced(source)}, {spaced(answer)}: {answer}")]
    if answer.isdigit():
        return [Exchange(ask, f"Here it is: {answer}", ends_with_numbers(int(answer)))]
    return [handed_back(draw, ask, answer)]


_PATTERNS: dict[str, Callable[[str], str]] = {
    "plural": lambda one: one + "s", "upper": str.upper, "title": str.title, "reverse": lambda one: one[::-1],
    "initial": lambda one: one[0], "last": lambda one: one[-1], "next": lambda one: str(int(one) + 1),
    "double": lambda one: str(2 * int(one)), "length": lambda one: str(len(one)), "opposite": str,
}  # fmt: skip


def counting(draw: Draw) -> list[Exchange]:
    """What comes next, before or between; how many there are; squares; below zero; one a line."""
    way = draw.any(("next", "next", "carry_on", "after", "before", "middle", "how_many", "squares", "negative", "range"))
    start, step, count = draw.numbers((1, 60), (1, 12), (3, 6))
    values = [start + step * at for at in range(count + 3)]
    if way == "next" and draw.chance(0.3):
        values = [start % 5 + 1]
        while len(values) < count + 3:
            values.append(values[-1] * draw_step if (draw_step := 2 + step % 2) else 0)
    told = ", ".join(map(str, values[:count]))
    if way in ("next", "carry_on"):
        more = values[count : count + (1 if way == "next" else 3)]
        reply = draw.any(("", "", "Here you go: ", "Next: ")) + ", ".join(map(str, more)) + "."
        return [Exchange(draw.ask(SAID[way], x=told), reply, number_list(more))]
    if way in ("after", "before", "middle"):
        answer = start + {"after": 1, "before": -1, "middle": 1}[way]
        return [Exchange(draw.ask(SAID[way], x=start, y=start + 2), f"It is {answer}.", ends_with_numbers(answer))]
    if way == "how_many":
        end = start + draw.whole(3, 30)
        reply = f"{end} - {start} = {end - start}. {end - start} + 1 = {end - start + 1}."
        return [Exchange(draw.ask(SAID[way], a=start, b=end), reply, ends_with_numbers(end - start + 1))]
    if way == "squares":
        k = draw.whole(3, 10)
        row = [n * n for n in range(1, k + 1)]
        ask = draw.ask(SAID[way], k=draw.any((words.spelled(k), k)))
    elif way == "negative":
        a, b = -draw.whole(1, 8), draw.whole(1, 8)
        row = list(range(a, b + 1))
        ask = draw.ask(SAID[way], a=a, b=b)
    else:
        row = list(range(start, start + step * count, step)) if draw.chance(0.5) else list(range(step * count, -1, -step))
        end = row[-1] + (1 if row[0] < row[-1] else -1)
        given = f"{row[0]}, {end}, {row[1] - row[0]}"
        return [Exchange(draw.ask(SAID["row of code"], x=f"range({given})"), ", ".join(map(str, row)) + ".", number_list(row))]
    joint = "\n" if "line" in ask else ", "
    return [Exchange(ask, joint.join(map(str, row)), number_list(row))]
