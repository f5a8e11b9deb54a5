"""Two demands at once on the user's list: put in order, turned round, cleaned or filtered; and then given in a form."""

from __future__ import annotations

import json

from assets.recipe import user_words as given
from assets.recipe.conversation import Exchange, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.number_lists import ordering, typed_numbers
from assets.recipe.skills.lists.shapes import shapes
from assets.recipe.words import read_wording

_WORDING = read_wording("lists/two_demands")
# The forms as texts call them, by what shapes call them.
_SHAPES = {"bullets": "dashes", "numbered": "steps", "commas": "commas_only", "dashes": "wide_dashes",
           "pipes": "wide_pipes", "quotes": "quoted_each"}  # fmt: skip
_FORMS = (*_SHAPES, "lines", "semicolons", "spaces", "sentence", "boxes", "first", "last")
_IN_LINES = ("bullets", "numbered", "lines", "boxes", "array")
_OFTEN = ("bullets", "bullets", "bullets", "numbered", "numbered", "lines", "lines", "array", "first")
_WORD_ORDERS = (*["sort"] * 4, "from_z", "reverse", "reverse", "unique", "unique_sorted", "starting")
_NUMBER_ORDERS = ("rising", "rising", "falling", "falling", "reverse", "above", "below")


def _changed(draw: Draw) -> tuple[str, str, dict[str, object], str, list[str]]:
    """A change to a list: its way, the list as typed, what else is told, the working, and the list then."""
    fields: dict[str, object] = {}
    if draw.chance(0.25):
        values = draw.rng.sample(range(draw.any((12, 100, 100, 1000))), draw.whole(3, 6))
        way, told = draw.any(_NUMBER_ORDERS), [*map(str, values)]
        if way in ("rising", "falling"):
            working, done = ordering(values, way == "falling")
        elif way == "reverse":
            working, done = given.counted_down(told), told[::-1]
        else:
            bound = draw.any(values[:2]) + (1 if way == "below" else -1)
            done = [one for one in told if (int(one) > bound) == (way == "above") and int(one) != bound]
            fields["k"], wide, sign = bound, max(map(len, told)), "<>"[way == "above"]
            working = given.marks(told, done, lambda one: f"{one:0>{wide}} {sign} {bound:0{wide}}")
        return way, typed_numbers(draw, told), fields, working, done
    way, items = draw.any(_WORD_ORDERS), given.words_in_order(draw, draw.whole(3, 6))
    told, working, done = items, given.counted_down(items), items[::-1]
    if way in ("sort", "from_z"):
        working, done = given.ordering(items, way == "from_z")
    elif way.startswith("unique"):
        told, done = given.with_another(draw, items, draw.any(items)), items
        working = given.seen(told)
        if way == "unique_sorted":
            ordered, done = given.ordering(items)
            working += f". {ordered}"
    elif way == "starting":
        fields["y"] = letter = draw.any(items)[0].lower()
        done = [item for item in items if item[0].lower() == letter]
        shown = given.marks(items, done, lambda item: f"{item} {item[0].lower()}")
        working = f"Beginning with {letter}: {shown}"
    return way, given.typed(draw, told), fields, working, done


def compose(draw: Draw) -> list[Exchange]:
    """A list changed and given in a form; what is wanted of it in any order."""
    way, x, fields, working, done = _changed(draw)
    form = draw.any((*_OFTEN, *_FORMS))
    verb, manner = (draw.say(_WORDING[f"{kind} {way}"], **fields) for kind in ("do", "so"))
    then, noun, shape = (draw.say(_WORDING[f"{kind} {form}"]) for kind in ("then", "a", "as"))
    ask = draw.ask(_WORDING["ask"], x=x, do=verb, so=manner, then=then, a=noun, shape=shape)
    if form == "array":
        told = json.dumps([int(one) if one.isdigit() else one for one in done], ensure_ascii=False)
        text = f"```json\n{told}\n```"
    else:
        text = ({"first": done[0], "last": done[-1]} | shapes(done))[_SHAPES.get(form, form)]
    return [Exchange(ask, f"{working}. So" + ("\n" if form in _IN_LINES else " ") + text, exactly_in(text))]
