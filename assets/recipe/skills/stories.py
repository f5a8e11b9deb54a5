"""Short stories from a grammar: somebody wants something, meets trouble, finds help, and it ends."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw

_ASKS_ANIMAL = (
    "Tell me a [short |little |]story about {x}.", "Write a [short |little |]story about {x}.",
    "A story about {x}, please.",
    "Can you tell me a story about {x}?", "I want [to hear |]a story about {x}.", "story about {x}",
    "Make up a story about {x}.",
    "Tell my child a bedtime story about {x}.", "Do you know a story about {x}?",
    "Write a fairy tale about {x}.",
    "Write [something|a few lines] about {x} as a story.",
)  # fmt: skip
_ASKS_NAMED = (
    "Tell me a [short |]story about {x} called {n}.", "Write a story about {n} the {k}.",
    "A story about {n}, who is {x}.",
    "[Tell|Write] a story with {n} the {k} in it.", "Story about {x} named {n}[ please|].",
    "Invent a story about {x} whose name is {n}.",
    "Can you write a story about {n} the {k}?",
)  # fmt: skip
_ASKS_PERSON = (
    "Tell me a [short |]story about {n}.", "Write a story about {n}.", "A story with {n} in it, please.",
    "story about {n}",
    "Make up a [little |]story about {n}.", "Can you tell a story about {n}?",
)  # fmt: skip
_OPEN = (
    "Once [upon a time |]there was {x} called {n} who lived {place}.", "{place_up} lived {x} called {n}.",
    "{n} was {x} who lived {place}.", "There once was {x} named {n}, and {n} lived {place}.",
    "Everybody {place} knew {n}, {x} with {a_trait}.",
    "In a time of long [evenings|winters|summers], {x} named {n} lived {place}.",
)  # fmt: skip
_PLACES = (
    "by a quiet lake", "in an old windmill", "at the edge of a forest", "near the harbour",
    "in a house with a red door", "on a small island",
    "behind the bakery", "under a stone bridge", "on top of a green hill",
    "in a garden full of [roses|herbs|pear trees]", "beside a slow river",
    "in a town of crooked streets", "in a valley of mist", "above the clock shop",
    "in the last house of the village",
)  # fmt: skip
_TRAITS = ("a loud laugh", "very good ears", "a heart for lost things", "a pocket full of string",
           "too many questions", "a soft voice",
           "a red scarf", "a small brass key", "a love of maps", "a hat that was too big")  # fmt: skip
_WANTS = (
    ("to find a lost [kite|button|drum|bell]", "found it"), ("to see the sea", "saw it at last"),
    ("to bake the [best|biggest] cake of the year", "baked it after all"),
    ("to learn to [whistle|swim|dance|sing]", "learnt it"), ("to build a [boat|bridge|tower|swing]",
    "built it"), ("to plant a tree that would [last|sing]", "planted it"),
    ("to write a letter to the moon", "wrote it"), ("to win the [spring|harvest|winter] race",
    "came in smiling"), ("to make a friend", "had one now"),
    ("to know what lay behind the hill", "knew it at last"), ("to bring light to the dark lane",
    "lit a lamp there"), ("to hear the oldest song", "heard it"),
)  # fmt: skip
_MORNINGS = ("One [cold|bright|windy|rainy|misty] morning", "One day in [spring|autumn|winter|summer]",
             "On a [Monday|Friday|Sunday]", "One evening",
             "The day after the [market|storm|fair]", "When the first snow fell",
             "Just after breakfast")  # fmt: skip
_WISHES = ("{morning}, {n} decided {want}.", "More than anything, {n} wanted {want}.",
           "{morning}, {n} woke up and knew what to do: {want}.",
           "For years {n} had hoped {want}.", "{n} had one wish: {want}.")  # fmt: skip
_TROUBLES = (
    "But [the path|the road] was [long and muddy|steep|blocked by a fallen tree].",
    "But a storm [came up|rolled in] and the [wind|rain] would not stop.",
    "But nobody [believed it could be done|had time to help].", "But on the way {n} got lost in the fog.",
    "But the [bridge|gate|door] was closed.",
    "But every [try|attempt] went wrong, once, twice, three times.",
    "But {n} was afraid of the [dark|deep water|tall trees].",
    "But the [map|rope|basket] had a hole in it.", "But there was only one day left.",
)  # fmt: skip
_FEELINGS = ("{n} sat down on a [stone|log|step] and [sighed|thought|counted to ten].",
             "{n} did not give up.", "{n} felt very small.",
             "{n} nearly turned back.", "For a while {n} just listened to the [wind|rain|birds].",
             "")  # fmt: skip
_HELPERS = (
    "Then {h} came by and said: \"{advice}\"",
    "Just then {h} looked out of a [window|bush|barrel]. \"{advice}\"",
    "{h_up} had seen everything. \"{advice}\"",
    "That was when {n} met {h}, who said: \"{advice}\"",
)  # fmt: skip
_ADVICE = ("Two can carry more than one.", "Take my lamp, I know the way.", "Slow steps are steps too.",
           "Start with the smallest piece.", "Let us try it together.",
           "Sing, and the way grows shorter.", "You only need to ask.", "Wait until the wind turns.",
           "I have a rope and an idea.")  # fmt: skip
_TURNS = ("So they went on together, [step by step|side by side|laughing].",
          "They worked until the [stars came out|lamps were lit|sun went down].",
          "Together it was [easy|half as hard|almost fun].",
          "They tried once more, and this time it went well.",
          "So {n} took a deep breath and went on, and {h_the} came too.")  # fmt: skip
_ENDS = ("In the end {n} {done}, and the two [shared a loaf of bread|drank warm milk|danced in the kitchen].",
         "Before the week was over, {n} {done}. {h_the_up} [laughed|smiled|cheered].",
         "And so {n} {done}. From then on, {n} and {h_the} were friends.",
         "When {n} {done}, the whole [village|street|valley] heard of it.")  # fmt: skip
_LAST = ("And if you listen at night, you can still hear them laugh.",
         "That evening the stars seemed a little nearer.", "Since then, {n} has never been afraid to ask.",
         "The end.", "And {n} slept very well that night.", "It was a good day.", "")  # fmt: skip
_MAKE_IT = ("[Now |]make it {x}.", "[Now |]with {x} instead.", "Can it be {x} instead?",
            "The same[ story|] with {x}.", "Change it to {x}.", "Make the hero {x}.")
_RENAME = ("[Now |]call {k} {m} instead.", "Change the name to {m}.", "The name should be {m}.",
           "[Now |]with the name {m}.", "Rename the hero {m}.")
_SHORTER = ("Shorter[ please|].", "[Now |]make it shorter.", "Too long.", "Can you make it shorter?",
            "In [one|two] sentence[s|].", "Summarise it.", "The short version?")


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
    place = draw.expand(draw.any(_PLACES))
    fields = {
        "x": "{x}", "n": "{n}", "place": place, "place_up": place[0].upper() + place[1:],
        "a_trait": draw.any(_TRAITS),
        "want": draw.expand(want), "done": done, "morning": draw.expand(draw.any(_MORNINGS)),
        "advice": draw.any(_ADVICE),
        "h": words.article(f"old {helper}"), "h_up": f"An old {helper}", "h_the": f"the {helper}",
        "h_the_up": f"The {helper}",
    }  # fmt: skip
    slots = (_OPEN, _WISHES, _TROUBLES, _FEELINGS, _HELPERS, _TURNS, _ENDS, _LAST)
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
    if style < 0.5:
        ask = draw.ask(_ASKS_ANIMAL, x=words.article(kind))
        needs: tuple[str, ...] = (kind,)
    elif style < 0.75:
        ask = draw.ask(_ASKS_NAMED, x=words.article(kind), k=kind, n=name)
        needs = (kind, name)
    else:
        kind = draw.any(("girl", "boy", *words.JOBS))
        ask = draw.ask(_ASKS_PERSON, n=name)
        needs = (name,)
    exchanges = [Exchange(ask, plot.told(kind, name), well_formed(*needs))]
    turn = draw.rng.random()
    if turn < 0.12:
        exchanges.append(Exchange(draw.ask(_MAKE_IT, x=words.article(other_kind)),
                         plot.told(other_kind, name), well_formed(other_kind), True))
    elif turn < 0.22:
        ask = draw.ask(_RENAME, m=other_name, k=f"the {kind}")
        exchanges.append(Exchange(ask, plot.told(kind, other_name), well_formed(other_name), True))
    elif turn < 0.36:
        exchanges.append(Exchange(draw.ask(_SHORTER), plot.shortened(kind, name), well_formed(name, least=30),
                         True))
    return exchanges
