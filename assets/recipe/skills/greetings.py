"""Hello, thanks, goodbye, who are you, what can you do; and the application, its keys, colours and decoding."""

from __future__ import annotations

from assets.recipe.checks import contains
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.topics import exchange, read_topics
from assets.recipe.wording import read_wording

_WORDING = read_wording("greetings")

TOPICS = read_topics("itself") + read_topics("things")
APPLICATION = read_topics("keys") + read_topics("ideas")
_CLOSINGS = read_topics("closings")


def _introduction(draw: Draw) -> list[Exchange]:
    name = draw.name()
    if draw.chance(0.15):
        return [Exchange(draw.ask(_WORDING["both"], n=name), f"Your name is {name}.", contains(name))]
    hello = draw.say(("Hello {n}! [How can I help?|What can I do for you?]",
                     "Nice to meet you, {n}. [What shall we do?|How can I help?]",
                      "Hi {n}! What would you like to do?"), n=name)  # fmt: skip
    exchanges = [Exchange(draw.ask(_WORDING["my_name"], _WORDING["my_name varied"], n=name), hello, contains(name))]
    if draw.chance(0.6):
        reply = draw.say(("Your name is {n}.", "You are {n}.", "You told me that your name is {n}."), n=name)
        exchanges.append(Exchange(draw.ask(_WORDING["ask_name"]), reply, contains(name), True))
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """A greeting or a question about the model itself, perhaps with another after it."""
    if draw.chance(0.2):
        return _introduction(draw)
    first, second = draw.rng.sample(TOPICS, 2)
    exchanges = [exchange(draw, first)]
    if draw.chance(0.35):
        exchanges.append(exchange(draw, second, True))
    return exchanges


def compose_application(draw: Draw) -> list[Exchange]:
    """One to three questions about the application, the later ones often short."""
    first, *others = draw.rng.sample(APPLICATION, draw.any((1, 1, 1, 2, 2, 3)))
    return [exchange(draw, first)] + [exchange(draw, topic, draw.chance(0.6)) for topic in others]


def closing(draw: Draw) -> Exchange:
    """How a conversation ends: thanks, praise or goodbye."""
    return exchange(draw, draw.any(_CLOSINGS))
