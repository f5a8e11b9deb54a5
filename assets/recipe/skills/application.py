"""Questions about lade-chat itself: its keys, its colours and how lookahead decoding works."""

from __future__ import annotations

from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.topics import exchange, read_topics

TOPICS = read_topics("keys") + read_topics("ideas")


def compose(draw: Draw) -> list[Exchange]:
    """One to three questions about the application, the later ones often short."""
    first, *others = draw.rng.sample(TOPICS, draw.any((1, 1, 1, 2, 2, 3)))
    return [exchange(draw, first)] + [exchange(draw, topic, draw.chance(0.6)) for topic in others]
