"""Numbers with names: whose is the most or the least, and the names in order of their numbers."""

from __future__ import annotations

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording

_WORDING = read_wording("lists/number_lists")
_MEASURES = tuple(name.removesuffix(" most") for name in _WORDING if name.endswith(" most"))
_TYPED = words.entries(_WORDING, "named typed")


def compose(draw: Draw) -> list[Exchange]:
    """A question about numbers with names."""
    measure, pool = draw.any(_MEASURES).split()
    count, top = draw.any((2, 3, 3, 3, 4, 4, 5)), draw.any((20, 60, 99, 99, 500))
    names = draw.names(count) if pool == "names" else draw.rng.sample(words.POOLS[pool], count)
    values = draw.rng.sample(range(1, top), count)
    form, between = draw.any(_TYPED), draw.any((", ", ", ", ", ", "; ", "\n"))
    x = between.join(form.format(n=name, k=value) for name, value in zip(names, values, strict=True))
    way = draw.any(("most", "most", "least", "least", "order"))
    one, other = (draw.say(_WORDING[f"{measure} {pool} {end}"]) for end in ("most", "least"))
    falling = way == "most" or (way == "order" and draw.chance(0.3))
    first = one if falling else other
    wide, whose = len(str(max(values))), dict(zip(values, names, strict=True))
    if way == "order":
        ask = draw.asked(_WORDING, "named order", x=x, m=measure, s=first, t=other if falling else one)
        told, ordered = (
            ", ".join(f"{value:0{wide}} {whose[value]}" for value in some)
            for some in (values, sorted(values, reverse=falling))
        )
        done = ", ".join(whose[value] for value in sorted(values, reverse=falling))
        return [given.worked(ask, f"{'From the largest' if falling else 'In order'}: {told}. {ordered}", done)]
    best, passed = values[0], []
    for value in values:
        best = (max if falling else min)(best, value)
        passed.append(f"{value:0{wide}} {best:0{wide}} {whose[best]}")
    ask = draw.asked(_WORDING, "named first", x=x, s=first)
    return [given.worked(ask, f"{'Largest' if falling else 'Smallest'} so far: {', '.join(passed)}", whose[best])]
