"""Talk: greetings, the model itself, the application, its keys and ideas; and everything else, which it declines.

The topics are told in texts/topics, in the format that the head of small_talk.txt tells.
"""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange, mentions
from assets.recipe.draw import Draw
from assets.recipe.words import TEXTS, Wording, fields, read_wording

_WORDING, _DECLINING, _FRAMES, _UNKNOWN = (
    read_wording(f"writing/{name}") for name in ("greetings", "declining", "frames", "unknowns")
)
_KINDS = ("thing", "things", "key", "do", "done")
# What is asked about, by the name of the wording that asks it; `personal` questions have no subject.
_SUBJECTS: dict[str, tuple[str, ...]] = {
    **{family: words.entries(_UNKNOWN, family) for family in _UNKNOWN},
    **{family: words.POOLS[family] for family in ("cities", "animals", "foods", "words", "jobs", "colours")},
    "personal": ("",),
}
# Families whose subjects fit the questions of `about` too.
_NAMED = words.entries(_DECLINING, "named families")
# Families of many subjects and questions are drawn more often than the others.
_OFTEN = dict(words.pairs(_DECLINING, "often"))
_FAMILIES = tuple(name for name in _SUBJECTS if name != "phrases" for _ in range(int(_OFTEN.get(name, 1))))
_INSERTS = {"languages": "phrases", "languages_code": "programs"}


def read_topics(name: str) -> tuple[Wording, ...]:
    """The topics of one file in the topics folder."""
    text = (TEXTS / "topics" / f"{name}.txt").read_text(encoding="utf-8")
    topics = (fields(block) for block in text.split("\n\n") if block.startswith("ask: "))
    return tuple(
        {key: tuple(line.replace("\\n", "\n") for line in lines) for key, lines in topic.items()} for topic in topics
    )


_CLOSINGS = read_topics("closings")
TOPICS = read_topics("itself") + read_topics("things")
SMALL_TALK = (*read_topics("small_talk"), *_CLOSINGS)
# What has many wordings is drawn more often, but no topic seldom.
APPLICATION = tuple(
    topic for name in ("keys", "ideas", "commands") for topic in read_topics(name)
    for _ in range(2 + (len(topic["ask"]) + 2 * len(topic.get("vary", ()))) // 8)
)  # fmt: skip


def _anything(draw: Draw) -> dict[str, object]:
    """Things that any question may be about, by the names of their fields."""
    w, u, one, other = draw.rng.sample(words.every_word(), 4)
    typed = str.lower if draw.chance(0.25) else str
    return {
        "w": w, "u": u, "v": typed(draw.any((one, f"{one} {other}")).title()), "n": typed(draw.name()),
        "k": draw.whole(1950, 2030), "p": f"{one} {draw.any(('the', 'my', 'is', 'with', 'a'))} {w} {other}",
        "c": typed(draw.any(words.CITIES)), "t": typed(draw.any(words.KINDS["countries"])), "j": draw.any(words.JOBS),
        "a": draw.any(words.ANIMALS), "f": draw.any(words.FOODS), "d": draw.whole(2, 70),
    }  # fmt: skip


def _exchange(draw: Draw, topic: Wording, follow_up: bool = False) -> Exchange:
    """The topic asked, by its own question or one of its names in a frame, and answered; in a short form if it may."""
    names = [(kind, name) for kind in _KINDS for line in topic.get(kind, ()) for name in line.split(" / ")]
    short = follow_up and bool(names or "then" in topic)
    own = topic.get("then", ()) if short else topic["ask"]
    if not names or (own and draw.chance(0.5)):
        ask = draw.ask(own, () if short else topic.get("vary", ()), **_anything(draw))
    else:
        kind, said = draw.any(names)
        name, _, done = draw.expand(said).partition(" = ")
        name = _quoted(draw, name) if not kind.startswith("do") and draw.chance(0.12) else name
        ask = draw.asked(_FRAMES, f"then_{kind}" if short else kind, t=name, d=done)
    ask = ask if short or topic not in APPLICATION else _in_context(draw, ask)
    return Exchange(ask, draw.say(topic["say"]), mentions(*topic["need"]), short)


def _in_context(draw: Draw, ask: str) -> str:
    """The question, now and then with a sentence before or behind it that tells who asks, and why."""
    if draw.held_out or not draw.chance(0.15):
        return ask
    return draw.say(_FRAMES["context"], q=ask, **_anything(draw))


def _quoted(draw: Draw, name: str) -> str:
    """The name in quotes, but for its article."""
    article = next((one for one in ("a ", "an ", "the ", "your ") if name.startswith(one)), "")
    return article + draw.any(('"{}"', "'{}'", "“{}”", "`{}`", "*{}*")).format(name.removeprefix(article).strip("`"))


def _introduction(draw: Draw) -> list[Exchange]:
    name = draw.name()
    if draw.chance(0.15):
        return [Exchange(draw.ask(_WORDING["both"], n=name), f"Your name is {name}.", mentions(name))]
    hello = draw.say(_WORDING["hello"], n=name)
    exchanges = [Exchange(draw.asked(_WORDING, "my_name", **_anything(draw) | {"n": name}), hello, mentions(name))]
    if draw.chance(0.6):
        reply = draw.say(_WORDING["your name"], n=name)
        exchanges.append(Exchange(draw.asked(_WORDING, "ask_name"), reply, mentions(name), True))
    return exchanges


def greetings(draw: Draw) -> list[Exchange]:
    """A greeting or a question about the model itself, perhaps with another after it."""
    if draw.chance(0.15):
        return _introduction(draw)
    first, second = draw.rng.sample(draw.any((TOPICS, SMALL_TALK)), 2)
    exchanges = [_exchange(draw, first)]
    return [*exchanges, _exchange(draw, second, True)] if draw.chance(0.35) else exchanges


def application(draw: Draw) -> list[Exchange]:
    """One to three questions about the application, the later ones often short."""
    first, *others = draw.rng.sample(APPLICATION, draw.any((1, 1, 1, 2, 2, 3)))
    return [_exchange(draw, first)] + [_exchange(draw, topic, draw.chance(0.6)) for topic in others]


def closing(draw: Draw) -> Exchange:
    """Draw the end of a conversation: thanks, praise or goodbye."""
    return _exchange(draw, draw.any(_CLOSINGS))


def declines() -> Check:
    """The reply owns up and names the way to a larger model."""
    return mentions("--model-path / --model_path", "small")


def beyond(draw: Draw) -> str:
    """A question of some family about one or two of its subjects."""
    if draw.chance(0.6):
        return draw.asked(_DECLINING, draw.any(("anything", "alike")), **_anything(draw))
    family = draw.any(_FAMILIES)
    about = "about" if family in _NAMED and draw.chance(0.35) else family
    typed = str.lower if draw.chance(0.3) else str
    subject, other = (typed(draw.any(_SUBJECTS[family])) for _ in range(2))
    insert = draw.any(_SUBJECTS[_INSERTS[family]]) if family in _INSERTS else ""
    return draw.asked(_DECLINING, about, t=subject, u=other, p=insert)


def declining(draw: Draw) -> list[Exchange]:
    """A question beyond the model, perhaps insisted on."""
    reply = " ".join(draw.say(_DECLINING[part]) for part in ("sorry", "can", "larger"))
    exchanges = [Exchange(_in_context(draw, beyond(draw)), reply, declines())]
    if draw.chance(0.15):
        exchanges.append(Exchange(draw.asked(_DECLINING, "but"), draw.say(_DECLINING["still"]), declines(), True))
    return exchanges
