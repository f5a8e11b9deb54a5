"""Requests for a story in any order: the name in a sentence of its own, keywords, a beginning to go on from."""

from __future__ import annotations

from assets.recipe.draw import Draw
from assets.recipe.words import lower_first, read_wording

_WORDING = read_wording("writing/stories")
WAYS = ("naming", "notes", "begun", "before", "day", "second", "event")
# Between two sentences of a request, and between its notes.
_JOINTS = (". ", ". ", ". ", "! ", "? ", ", ", "; ", " - ", "\n", "... ", " ")
_NOTED = (", ", ", ", ", ", " ", "; ", "\n", " / ", " - ", ". ", " | ", ": ", ",")


def ordered(draw: Draw, way: str, frame: str, subject: str, named: bool, counted: bool) -> str:
    """The template of a request for a story of this subject, in one of `WAYS`.

    Args:
        draw: the chance.
        way: what the end of wording/writing/stories.txt tells.
        frame: a frame for the subject `{s}`, which "naming", "second" and "event" use.
        subject: the hero, and what there is to tell; what the hero does is the field `{c}`.
        named: True if the subject has the name.
        counted: True if the notes tell how many sentences it should have.
    """
    if way == "notes":
        return _notes(draw, "{c}" in subject, counted, "{k}" not in subject and "{x}" not in subject)
    if way == "begun":
        begun = f"{_any(draw, 'begin')} {subject}"
        return then(draw, begun, _any(draw, "go on")) if draw.chance(0.75) else f"{_any(draw, 'go on before')}: {begun}"
    if way in ("before", "day"):
        subject = subject.removesuffix(" {c}") if way == "day" else subject
        return then(draw, f"{_any(draw, 'before')} {subject}", _any(draw, "of the day" if way == "day" else "of it"))
    subject = subject.removesuffix(" {c}") if way in ("second", "event") else subject
    told = _any(draw, {"naming": "naming", "event": "happens"}.get(way, "doing named" if named else "doing"))
    if way == "event" and draw.chance(0.3):
        return then(draw, told, frame.replace("{s}", subject))
    if frame.startswith("{s}") or (frame.endswith("{s}") and draw.chance(0.4)):
        return frame.replace("{s}", then(draw, subject, told))
    return then(draw, frame.replace("{s}", subject), told)


def then(draw: Draw, first: str, second: str) -> str:
    """The two sentences, with some sign or other between them."""
    joint = draw.any(_JOINTS)
    second = lower_first(second) if joint in (", ", "; ", " ") and second[0] != "{" else second
    return draw.expand(first).rstrip(".!? ") + joint + draw.expand(second)


def _any(draw: Draw, name: str) -> str:
    return draw.expand(draw.any(draw.side(_WORDING[name])))


def _notes(draw: Draw, deed: bool, counted: bool, alone: bool) -> str:
    """Keywords in any order: what is wanted, the hero, a name, a deed or thing, what the story should be like."""
    kept = {"note story": 0.9, "note hero": not alone, "note name": 0.8 * (not alone), "note alone": alone,
            "note deed": deed, "note thing": 0.3 * (not deed), "note manner": 0.4, "note count": counted}  # fmt: skip
    notes = [_any(draw, name) for name, chance in kept.items() if draw.chance(chance)]
    draw.rng.shuffle(notes)
    return draw.any(_NOTED).join(notes)
