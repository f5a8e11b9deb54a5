"""The working of a story's sum: the story is read once more, in its own words, and then worked step by step.

What is read is short: each number with the few words around it, and what is asked. A model this small chooses the
sign well only where the word that tells it ("sold", "each") is the last that it wrote: of several steps each begins
with the words of its own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assets.recipe.skills.numbers.arithmetic import steps
from assets.recipe.words import entries, read_wording

_WORDING = read_wording("measures/follow_ups")
# Where no words are carried over from one clause to the next, and what nobody reads out at a piece's ends.
_JOINTS, _EACH, _TELLING, _NEEDLESS, _PARTICLES = (
    frozenset(entries(_WORDING, name)) for name in ("joints", "each", "telling", "needless", "particles")
)
_COMPARED = re.compile(rf"\b(?:{'|'.join(entries(_WORDING, 'compared'))})\b", re.IGNORECASE)
_FIELD = r"(?:[^.?!{}\n]|\{(?![a-ew]\})\w+\})*"
_QUESTION = re.compile(rf"\b(?:{'|'.join(entries(_WORDING, 'asks'))})\b{_FIELD}", re.IGNORECASE)
_LAST = re.compile(rf"(?<=[.?!;:,-] )(?:(?![;:,] | - ){_FIELD[3:-2]})+\??$")
_MARK = re.compile("\x01(\\w)=([^\x02]*)\x02|\x03|\x04")
_ASKED_MOST, _BEFORE, _AFTER, _REACH = 8, 2, 3, 6
_SIGNS = "\"'().,;:!?*"


def marked(story: str) -> str:
    """The story's template with {asked} before what is asked and {end} after it, if it is found."""
    found = _QUESTION.search(story) or _LAST.search(story)
    if found is None:
        return story
    asked = found[0].rstrip(" ?")
    return f"{story[: found.start()]}{{asked}}{asked}{{end}}{story[found.start() + len(asked) :]}"


def fields(shown: Mapping[str, str]) -> dict[str, str]:
    """The marks for the numbers, and for the ends of what is asked, in a question that is read later."""
    return {name: f"\x01{name}={text}\x02" for name, text in shown.items()} | {"asked": "\x03", "end": "\x04"}


def clean(ask: str) -> str:
    """The question as the user typed it."""
    return _MARK.sub(lambda found: found[2] or "", ask)


@dataclass(frozen=True)
class _Chunk:
    """A word as typed, the clause it stands in, the numbers that it is part of, and whether it is what is asked."""

    text: str
    clause: int
    numbers: frozenset[str]
    asked: bool


def _chunks(ask: str, numbers: Mapping[str, str], own: str) -> list[_Chunk]:
    """The words of a question that has the marks of fields(); a number of the story's own is called `own`."""
    text, spans, asked = "", [], [0, 0]
    at = 0
    for found in _MARK.finditer(ask):
        text += ask[at : found.start()]
        at = found.end()
        if found[1]:
            spans.append((len(text), len(text) + len(numbers[found[1]]), found[1]))
            text += numbers[found[1]]
        else:
            asked[found[0] == "\x04"] = len(text)
    text += ask[at:]
    shares = re.finditer(rf"\b(?:{own})\b", text, re.IGNORECASE) if own else ()
    apart = (share.span() for share in shares if not any(first <= share.start() < last for first, last, _ in spans))
    spans += [(*span, "own") for span in [*apart][:1]]
    chunks: list[_Chunk] = []
    clause, since = 0, 0
    for found in re.finditer(r"\S*\w\S*", text):
        start, end = found.span()
        of = frozenset(name for first, last, name in spans if start < last and end > first)
        one = _Chunk(found[0], clause, of, asked[0] <= start < asked[1])
        joint = re.search(r"\S|\n", text[since:start])
        if chunks and (joint or start <= asked[0] < end or _parted(chunks[-1], one)):
            clause += 1
        chunks.append(replace(one, clause=clause))
        since = end
    return chunks


def _parted(before: _Chunk, after: _Chunk) -> bool:
    """True if a clause ends between two words; a label such as "Sold:" goes with its number."""
    if before.text.rstrip('"')[-1] in ".,;!?)":
        return True
    joint = _plain(before.text) in _JOINTS and not before.asked and not before.numbers
    return joint or (before.text[-1] == ":" and not after.numbers)


def _kept(chunks: list[_Chunk]) -> list[int]:
    """Which of the words are read: what is asked, the numbers, and the words around them."""
    kept = set([at for at, one in enumerate(chunks) if one.asked][:_ASKED_MOST])
    for at, one in enumerate(chunks):
        if one.numbers:
            kept |= {at, *_around(chunks, at, -1), *_around(chunks, at, 1)}
    return sorted(kept)


def _around(chunks: list[_Chunk], at: int, way: int) -> list[int]:
    """The words before a number (way -1) or after it (1), to the clause's end, of which a few are read.

    All of them up to another number that is near; as far as "each", or back to a telling verb; none that says nothing.
    """
    near: list[int] = []
    for other in range(at + way, at + way * (_REACH + 2), way):
        if not 0 <= other < len(chunks) or chunks[other].clause != chunks[at].clause:
            break
        if chunks[other].numbers:
            return near
        near.append(other)
    said = [_plain(chunks[other].text) for other in near[:_REACH]]
    each = max((n for n, word in enumerate(said, 1) if word in (_TELLING | _EACH if way < 0 else _EACH)), default=0)
    says = next((n for n, word in enumerate(said, 1) if word not in _NEEDLESS), 0)
    most = max(each, says, _BEFORE if way < 0 else _AFTER)
    if len(near) <= most and said and said[-1] in _PARTICLES:
        return near
    near = near[:most]
    while near and _plain(chunks[near[-1]].text) in _NEEDLESS:
        near.pop()
    return near


def _plain(text: str) -> str:
    return text.lower().strip(_SIGNS)


def _pieces(chunks: list[_Chunk]) -> list[list[_Chunk]]:
    """The words that are read, together where they stand together."""
    pieces: list[list[_Chunk]] = []
    kept = _kept(chunks)
    for at, before in zip(kept, [-2, *kept], strict=False):
        one, last = chunks[at], chunks[before]
        if at == before + 1 and one.clause == last.clause and (last.asked or not one.asked):
            pieces[-1].append(one)
        else:
            pieces.append([one])
    return [piece for piece in pieces if _read(piece)]


def _read(piece: list[_Chunk]) -> str:
    """The piece as it is read out."""
    return " ".join(" ".join(one.text.strip(_SIGNS) for one in piece).split())


def _numbers(piece: list[_Chunk]) -> frozenset[str]:
    return frozenset().union(*(one.numbers for one in piece))


def _again(pieces: list[list[_Chunk]], names: Sequence[str]) -> str:
    """These numbers in this order, read once more, each with the words of its piece up to another number's."""
    spans: list[tuple[list[_Chunk], int, int]] = []
    for name in names:
        piece = next(piece for piece in pieces if name in _numbers(piece))
        at = [n for n, one in enumerate(piece) if name in one.numbers]
        if spans and spans[-1][0] is piece and spans[-1][2] <= at[0]:
            spans[-1] = (piece, spans[-1][1], at[-1])
        else:
            spans.append((piece, at[0], at[-1]))
    read = []
    for piece, first, last in spans:
        others = [n for n, one in enumerate(piece) if one.numbers]
        start = max((first - min(_BEFORE, (first - n - 1) // 2) for n in others if n < first), default=0)
        end = min((n - min(_BEFORE, (n - last - 1) // 2) for n in others if n > last), default=len(piece))
        start = first if piece[0].asked else start
        while start < first and _plain(piece[start].text) in _NEEDLESS:
            start += 1
        whole = end == len(piece) and not piece[0].asked
        while end > last + 1 and not whole and _plain(piece[end - 1].text) in _NEEDLESS:
            end -= 1
        read.append(_read(piece[start:end]))
    return ", ".join(read)


def _in_order(plan: str, told: list[str]) -> str:
    """The plan, its sums and products in the order in which their numbers are read, a result before a number."""
    rank = {"x": -1, "y": -1, **{name: at for at, name in enumerate(told)}}
    turned = []
    for one, sign, other in ((step[0], step[1], step[2:]) for step in plan.split(", ")):
        turn = sign in "+×" and rank.get(one, len(told)) > rank.get(other, len(told))
        turned.append(f"{other}{sign}{one}" if turn else f"{one}{sign}{other}")
    return ", ".join(turned)


def _compared(pieces: list[list[_Chunk]], plan: str, told: list[str], said: Mapping[str, str]) -> str:
    """Which of two numbers is more, if their difference is what is asked for or the smaller one is told first."""
    one, sign, other = plan.partition("-")
    asked = " ".join(chunk.text for piece in pieces for chunk in piece if chunk.asked)
    if not sign or {one, other} != set(told) or (told[0] == one and not _COMPARED.search(asked)):
        return ""
    return f"{said[told[0]]} and {said[told[1]]}, {said[one]} is more. "


def working(ask: str, plan: str, numbers: Mapping[str, int], said: Mapping[str, str], own: str) -> tuple[str, int]:
    """The story read along to its end, and what it comes to.

    No sum stands before all is read, for what is told last often decides the first sign. Of several steps each begins
    with its numbers, read once more in the sum's order; so does a division by what is told first.

    Args:
        ask: the question, with the marks of fields().
        plan: the sum's steps, as arithmetic.steps has them.
        numbers: their values.
        said: how they are read out.
        own: a pattern of what the story's own number is told as.
    """
    pieces = _pieces(_chunks(ask, said, own))
    told = list(dict.fromkeys(name for piece in pieces for one in piece for name in sorted(one.numbers)))
    done = steps(_in_order(plan, told), numbers) or []
    line = ", ".join(map(_read, pieces))
    for step in done:
        needed = [name for name in (told if "own" in step.needs else step.needs) if name in told and name in step.needs]
        turned = plan[1] not in "+-×" and needed == told[::-1] != told
        if again := _again(pieces, needed) if len(done) > 1 or turned else "":
            line += f". {again}: {step.line}"
        else:
            line += (". Then " if len(done) > 1 else ": ") + _compared(pieces, plan, told, said) + step.line
    return line, done[-1].result
