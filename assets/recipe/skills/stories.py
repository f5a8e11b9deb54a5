"""Short stories from a grammar: somebody wants something, meets trouble, finds help, and it ends."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("stories")

_WANTS = (
    ("to find a lost [kite|button|drum|bell]", "found it"),
    ("to see the sea", "saw it at last"),
    ("to bake the [best|biggest] cake of the year", "baked it after all"),
    ("to learn to [whistle|swim|dance|sing]", "learnt it"),
    ("to build a [boat|bridge|tower|swing]", "built it"),
    ("to plant a tree that would [last|sing]", "planted it"),
    ("to write a letter to the moon", "wrote it"),
    ("to win the [spring|harvest|winter] race", "came in smiling"),
    ("to make a friend", "had one now"),
    ("to know what lay behind the hill", "knew it at last"),
    ("to bring light to the dark lane", "lit a lamp there"),
    ("to hear the oldest song", "heard it"),
)


@dataclass(frozen=True)
class Plot:
    """A story's template, its places for hero and name still open."""

    template: str
    summary: str

    def told(self, kind: str, name: str) -> str:
        """The story of this hero."""
        return self.template.format(x=words.article(kind), n=name)

    def shortened(self, kind: str, name: str) -> str:
        """The same in a sentence or two."""
        return self.summary.format(x=words.article(kind), n=name)


def _plot(draw: Draw) -> Plot:
    helper = draw.any(words.ANIMALS)
    want, done = draw.any(_WANTS)
    place = draw.expand(draw.any(_WORDING["places"]))
    fields = {
        "x": "{x}", "n": "{n}", "place": place, "place_up": place[0].upper() + place[1:],
        "a_trait": draw.any(_WORDING["traits"]),
        "want": draw.expand(want), "done": done, "morning": draw.expand(draw.any(_WORDING["mornings"])),
        "advice": draw.any(_WORDING["advice"]),
        "h": words.article(f"old {helper}"), "h_up": f"An old {helper}", "h_the": f"the {helper}",
        "h_the_up": f"The {helper}",
    }  # fmt: skip
    slots = (
        _WORDING["open"],
        _WORDING["wishes"],
        _WORDING["troubles"],
        _WORDING["feelings"],
        _WORDING["helpers"],
        _WORDING["turns"],
        _WORDING["ends"],
        _WORDING["last"],
    )
    sentences = [draw.expand(draw.any(slot)).format(**fields) for slot in slots]
    opening, middle, end = sentences[:2], sentences[2:5], sentences[5:]
    paragraphs = [" ".join(s for s in part if s) for part in (opening, middle, end)]
    template = "\n\n".join(paragraphs) if draw.chance(0.6) else " ".join(paragraphs)
    wish = "{n}, {x}, wanted " + fields["want"]
    summary = f"{wish}. It was hard, but with the help of {fields['h']}, {{n}} {done}."
    return Plot(template, summary)


def well_formed(*subjects: str, least: int = 150) -> Check:
    """Long enough, ends like a sentence, speaks of the subjects, and never says a sentence twice."""

    def check(reply: str) -> bool:
        sentences = [part.strip() for part in reply.replace("\n", " ").split(". ") if len(part) > 20]
        ended = reply.rstrip().endswith((".", "!", "?", '"'))
        about = all(subject.lower() in reply.lower() for subject in subjects)
        return len(reply) >= least and ended and about and len(set(sentences)) == len(sentences)

    return check


def compose(draw: Draw) -> list[Exchange]:
    """A story, perhaps told again with another hero, another name, or shorter."""
    plot = _plot(draw)
    kind, other_kind = draw.words(words.ANIMALS, 2)
    name, other_name = draw.words(words.NAMES, 2)
    style = draw.rng.random()
    needs: tuple[str, ...]
    if style < 0.08:
        ask = draw.ask(_WORDING["asks_any"])
        needs = ()
    elif style < 0.5:
        ask = draw.ask(_WORDING["asks_animal"], x=words.article(kind))
        needs = (kind,)
    elif style < 0.75:
        ask = draw.ask(_WORDING["asks_named"], x=words.article(kind), k=kind, n=name)
        needs = (kind, name)
    else:
        kind = draw.any(("girl", "boy", *words.JOBS))
        ask = draw.ask(_WORDING["asks_person"], n=name)
        needs = (name,)
    exchanges = [Exchange(ask, plot.told(kind, name), well_formed(*needs))]
    turn = draw.rng.random()
    if turn < 0.12:
        exchanges.append(
            Exchange(
                draw.ask(_WORDING["make_it"], x=words.article(other_kind)),
                plot.told(other_kind, name),
                well_formed(other_kind),
                True,
            )
        )
    elif turn < 0.22:
        ask = draw.ask(_WORDING["rename"], m=other_name, k=f"the {kind}")
        exchanges.append(Exchange(ask, plot.told(kind, other_name), well_formed(other_name), True))
    elif turn < 0.36:
        exchanges.append(
            Exchange(draw.ask(_WORDING["shorter"]), plot.shortened(kind, name), well_formed(name, least=30), True)
        )
    return exchanges
