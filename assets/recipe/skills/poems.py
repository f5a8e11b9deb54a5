"""Four- to eight-line poems in rhymed couplets."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.stories import well_formed
from assets.recipe.wording import read_wording

_WORDING = read_wording("poems")

_COUPLETS = (
    ("The {x} went out to [see|greet] the day,", "and [hummed|sang] a song along the way."),
    ("A {x} looked up into the [blue|morning] sky", "and wondered why the clouds can fly."),
    ("The [wind|rain] was cold, the night was long,", "the {x} kept warm with half a song."),
    ("Oh little {x}, [be|stay] kind, be bright,", "the moon will bring you home tonight."),
    ("The river [told|sang] the {x} a tale", "of ships that had a silver sail."),
    ("It found a [stone|leaf], it found a key,", "and hid them by the apple tree."),
    ("When winter [came|fell] with frost and snow,", "the {x} had nowhere else to go."),
    ("So [open|leave] the gate and let it in,", "and let the quiet songs begin."),
    ("A [lamp|star] was shining on the hill,", "the {x} sat down and all was still."),
    ("[By day|By noon] it danced, by night it slept,", "and many little secrets kept."),
    ("The [clock|bell] struck one, the [clock|bell] struck two,", "the {x} had better things to do."),
    ("Who knows what {x_any} may dream about,", "before the morning stars go out?"),
    ("It [ran|strolled] through fields of golden wheat", "with dust and dew upon its feet."),
    ("And if you [pass|see] it, [say hello|wave your hand],", "it is the {x} of this green land."),
    ("The [garden|village] knows its [gentle|steady] tread,", "the kitchen knows it must be fed."),
    ("It [never|hardly] asks for more than this:", "a place to rest, a day of bliss."),
)
_TITLES = ("", "", "**The {x}**\n\n", "**A {x} in the Morning**\n\n")


def _lines(couplets: list[tuple[str, str]], kind: str) -> str:
    text = "\n".join(line for couplet in couplets for line in couplet)
    return text.format(x=kind, x_any=words.article(kind)).replace(f"A {kind}", words.article(kind).capitalize())


def compose(draw: Draw) -> list[Exchange]:
    """A poem, perhaps made longer or written again about another animal."""
    kind, other = draw.words(words.ANIMALS, 2)
    first_couplet = draw.any([couplet for couplet in _COUPLETS if "{x}" in couplet[0] + couplet[1]])
    others = [couplet for couplet in _COUPLETS if couplet != first_couplet]
    drawn = [first_couplet, *draw.rng.sample(others, draw.whole(2, 5))]
    couplets = [(draw.expand(one), draw.expand(two)) for one, two in drawn]
    title = draw.any(_TITLES).format(x=kind.capitalize())
    body, added = couplets[:-1], couplets[-1:]
    first = title + _lines(body, kind)
    if draw.chance(0.08):
        exchanges = [Exchange(draw.ask(_WORDING["asks_any"]), first, well_formed(least=60))]
    else:
        ask = draw.ask(_WORDING["asks"], x=words.article(kind))
        exchanges = [Exchange(ask, first, well_formed(kind, least=60))]
    if draw.chance(0.2):
        reply = f"{first}\n{_lines(added, kind)}"
        exchanges.append(Exchange(draw.ask(_WORDING["longer"]), reply, well_formed(kind, least=100), True))
    elif draw.chance(0.2):
        title = title.replace(kind.capitalize(), other.capitalize())
        exchanges.append(
            Exchange(
                draw.ask(_WORDING["other"], x=words.article(other)),
                title + _lines(body, other),
                well_formed(other, least=60),
                True,
            )
        )
    return exchanges
