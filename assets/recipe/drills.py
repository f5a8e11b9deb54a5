"""Drills: rows that teach to copy whatever stands there, and of each piece which letters it is made of.

Their words are pieces at random, so that nothing in them can be known by heart.
"""

from __future__ import annotations

import re
from itertools import chain
from random import Random

from assets.recipe.tokenizer import BOS_ID, ROLES, ChatTokenizer
from assets.recipe.user_words import HANDED, SMALL, TITLE, leading, numbered

_SIGNS = ("_", "_", "-", ",", "/", "", "", ".", '"', "*", "=", "|")
# Lead-ins, and where the text stands.
_LEADS = ("{do}: {x}", "{do}: {x}", "{do} {x}", '{do}: "{x}"', '{do} "{x}"', "{do} '{x}' please", "{do}:\n{x}",
          "{x}\n{do} that.", "{x} - {do} this", '"{x}" {do}', "({x}) {do} it", "{do} this: {x}", "{do} exactly: {x}",
          "{do}:{x}", "{do}\n\n{x}")  # fmt: skip
_COPY = ("Repeat", "repeat", "Copy", "copy", "Say", "say", "Write", "Type", "Echo", "Print", "Read", "Quote", "Reply")
_COUNTS = (1, 2, 2, 3, 4, 5, 6, 8, 10, 14, 20, 30, 40)
_WAYS = ("copy",) * 8 + ("swap", "omit") * 5 + ("twice", "after", "before", "backwards", "first", "last")
_SWAP = ("Replace {own} by {new}", "replace {own} with {new}", "Change {own} to {new}", "{new} instead of {own}",
         "Write {new} for {own}", "{own} -> {new}", 'Replace "{own}" with "{new}"')  # fmt: skip
_OMIT = ("Leave out {own}", "Without {own}", "Delete {own}", "remove the word {own}", 'Drop "{own}"', "no {own}")
Row = tuple[list[int], list[bool]]


class Drills:
    """The rows that come beside the conversations."""

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        self._tokenizer, self._pieces = tokenizer, tokenizer.pieces
        special = {0, BOS_ID, *map(tokenizer.pieces.piece_to_id, ("</s>", "<|end|>", *ROLES.values()))}
        self._plain = [piece for piece in range(len(tokenizer)) if piece not in special]
        self._begin = [piece for piece in self._plain if self._pieces.id_to_piece(piece).startswith("▁")]
        named = [(piece, str(self._pieces.id_to_piece(piece))) for piece in self._plain]
        self._lettered = [piece for piece, text in named if re.fullmatch("▁[A-Za-z]+", text)]
        self._within = [piece for piece, text in named if re.fullmatch("[a-z]+", text)]

    def row(self, rng: Random) -> Row:
        """A row as `ChatTokenizer.chat` has it: pieces to be copied, a text to be copied or cut, or letters."""
        style = rng.random()
        return self._random(rng) if style < 0.2 else self._text(rng) if style < 0.62 else self._letters(rng)

    def _taught(self, ask: list[int], reply: list[int]) -> Row:
        end, roles = self._tokenizer.end_id, [self._pieces.piece_to_id(ROLES[role]) for role in ("user", "assistant")]
        ids = [BOS_ID, roles[0], *ask, end, roles[1]]
        return [*ids, *reply, end], [False] * len(ids) + [True] * (len(reply) + 1)

    def _random(self, rng: Random) -> Row:
        """Pieces at random, or words made of such, to be copied or reversed."""
        style, count = rng.random(), rng.choice((3, 4, 6, 8, 12, 20))
        if style < 0.3:
            drawn = rng.sample(self._plain, 3 * count)
            # Now and then a piece comes again, so that the one before it alone does not tell what follows.
            asked = said = [[rng.choice((piece, piece, piece, piece, drawn[0]))] for piece in drawn]
        else:
            made = [[rng.choice(self._begin), *rng.choices(self._plain, k=rng.randint(0, 3))] for _ in range(count)]
            comma = [self._pieces.piece_to_id(",")] if rng.random() < 0.7 else []
            asked, said = ([[*item, *comma] for item in items] for items in (made, made[:: -1 if style > 0.6 else 1]))
        way = self._pieces.encode("Reverse:" if style > 0.6 else "Repeat:")
        return self._taught([*way, *chain.from_iterable(asked)], [*chain.from_iterable(said)])

    def _word(self, rng: Random, before: list[str]) -> str:
        """A word of one piece or several, as texts have them: in any case, with hyphens, digits or signs, or again."""
        style = rng.random()
        if before and style < 0.15:
            return rng.choice(before)
        if style < 0.25:
            return "".join(rng.choice("0123456789") for _ in range(rng.choice((1, 1, 2, 3, 4, 6))))
        ends = rng.choices(self._within, k=rng.choice((0, 0, 0, 1, 2)))
        text = str(self._pieces.decode([rng.choice(self._lettered), *ends])).strip()
        if style < 0.36:
            return text.upper() if style < 0.3 else text.title()
        sign = rng.choice("-_/.")
        after = (sign + rng.choice(before or ["x"]), rng.choice(".,;:!?)"), f"{sign}{rng.randint(1, 99)}")
        return text + rng.choice(after) if style < 0.48 else text

    def _text(self, rng: Random) -> Row:
        """A text, wherever it stands and however it is led in, to be copied whole, in part, or with a word changed.

        What begins a text, or follows a quote, is of other pieces than after a space.
        """
        some: list[str] = []
        for _ in range(rng.choice(_COUNTS)):
            some.append(self._word(rng, some))
        way, at = rng.choice(_WAYS), rng.randrange(len(some))
        own, new, count = some[at], self._word(rng, []), min(rng.randint(1, 4), len(some))
        if way in ("swap", "omit") and rng.random() < 0.3:
            some.insert(rng.randrange(len(some) + 1), own)
        between = rng.choice((" ", " ", " ", " ", ", ", ",", "\n", "; ")) if way == "copy" else " "
        shown = numbered(some[:count] if way == "first" else some[: -count - 1 : -1])
        opening, done, do = {
            "copy": (rng.choice(HANDED), some, rng.choice(_COPY)),
            "twice": (rng.choice(HANDED), some + some, "Twice"),
            "swap": (leading(f"{own} -> {new}"), [{own: new}.get(one, one) for one in some], rng.choice(_SWAP)),
            "omit": (leading(f"Without {own}"), [one for one in some if one != own], rng.choice(_OMIT)),
            "after": (leading(f"After {own}"), some[some.index(own) + 1 :], "After {own}"),
            "before": (leading(f"Before {own}"), some[: some.index(own)], "Before {own}"),
            "backwards": (rng.choice(HANDED), some[::-1], "Reverse the order"),
            "first": (leading(f"The first {count}: {shown}"), some[:count], "First {count} words"),
            "last": (leading(f"The last {count}: {shown}"), some[-count:], "Last {count} words"),
        }[way]  # fmt: skip
        do = do.format(own=own, new=new, count=count)
        ask = rng.choice(_LEADS).replace("{do}", do).replace("{x}", between.join(some)).strip()
        if not done:
            return self._text(rng)
        reply = opening + between.join(done)
        return self._taught(self._pieces.encode(ask), self._tokenizer.written(reply))

    def _letters(self, rng: Random) -> Row:
        """Words of one piece, or of two: to be spelled, numbered, written in another case, or joined by a sign."""
        way = rng.choice((*["Spell:"] * 4, "Number:", "Capitals:", "Small letters:", "Title:", "Join", "Join"))
        some = []
        for _ in range(rng.randint(2, 5 if way == "Number:" else 9)):
            some.append([rng.choice(self._lettered), *([rng.choice(self._within)] if rng.random() < 0.4 else [])])
        texts, sign = [str(self._pieces.decode(one)).strip() for one in some], rng.choice(_SIGNS)
        told = {
            "Spell:": lambda: HANDED[0] + ", ".join(map("-".join, texts)),
            "Number:": lambda: HANDED[0] + "; ".join(
                ", ".join(f"{n} {one}" for n, one in enumerate(text, 1)) for text in texts),
            "Capitals:": lambda: "In capitals: " + " ".join(texts).upper(),
            "Small letters:": lambda: SMALL + " ".join(texts).lower(),
            "Title:": lambda: TITLE + " ".join(texts).title(),
            "Join": lambda: HANDED[0] + sign.join(texts),
        }[way]()  # fmt: skip
        shown = [text.upper() if way[0] == "S" and way[1] == "m" else text for text in texts]
        ask = f"{f'Join by {sign}:' if way == 'Join' else way} {' '.join(shown)}"
        return self._taught(self._pieces.encode(ask), self._tokenizer.written(told))
