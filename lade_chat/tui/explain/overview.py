"""The tutorial's pages around the method: tokens, steps, why to guess; a race's steps; a reply's metrics."""

from __future__ import annotations

from functools import partial

from textual.content import Content
from textual.geometry import Size

from lade_chat.presentation.status_parts import pack
from lade_chat.protocol.tutorial import Beginning, ComparedSteps, Comparison
from lade_chat.tui.explain.page import LABEL, MUTED, Page, count_in_words, text
from lade_chat.tui.inspector.step_views import shown
from lade_chat.tui.theme.token_tints import VERIFIED, style_of

_TITLE = "What this is about"


def beginning_pages(walk: Beginning, model: str) -> list[Page]:
    """Return the first pages. ``model`` describes the model in a few words."""

    def question(room: Size) -> list[Content]:
        return [
            Content.styled("You ask:", MUTED),
            *Content(pack(map(shown, walk.question), room.width, " │ ")).split(),
            Content(""),
            Content.styled(f"{len(walk.question)} tokens · a dot stands for a blank, ↵ for a line break", MUTED),
        ]

    def answerer(room: Size) -> list[Content]:
        return [
            *question(room),
            Content(""),
            Content.assemble(("Answering: ", MUTED), model),
            Content.styled("What you will see are steps that it has just taken.", MUTED),
        ]

    return [Page(_TITLE, text("tokens"), question), Page(_TITLE, text("guessing"), answerer)]


def comparison_pages(walk: Comparison) -> list[Page]:
    """Return the last pages: lookahead beside plain decoding, and a summary of the method in three lines."""
    steps = text("steps taken", plain=walk.plain_steps, lookahead=walk.lookahead_steps)
    same = text("same text" if walk.identical else "near tie")
    count, verified = len(walk.lookahead), _verified(walk)
    share = f"{verified} of the {count} tokens {'was a guess' if verified == 1 else 'were guesses'} that proved right."
    return [
        Page("The whole reply", f"{steps} {same} {share}", partial(_tinted, walk)),
        Page("The whole in three lines", text("recap"), _recap),
    ]


def _verified(walk: Comparison) -> int:
    return sum(token.origin != "plain" for token in walk.lookahead)


def _others(walk: Comparison) -> str:
    """Explain the tokens that were not candidates: one per step, unless a candidate ended the reply."""
    own = len(walk.lookahead) - _verified(walk)
    begin = f"{'The other' if _verified(walk) else 'All'} {own} are the model's own, one from each step"
    if own == walk.lookahead_steps:
        return f"{begin}." + (" The very last one is invisible: it ends the reply." if walk.ended else "")
    if walk.ended:
        return f"{begin} but the last: there a right guess was the invisible token that ends the reply."
    return f"{begin} but the last: there a right guess was the last token of all."


def _tinted(walk: Comparison, room: Size) -> list[Content]:
    """The end of the reply, as much as there is room for, verified tokens tinted; and the rest of the metrics."""
    tokens = ((token.text, "" if token.origin == "plain" else VERIFIED) for token in walk.lookahead)
    lines = Content.assemble(*tokens).wrap(room.width)
    others = Content.styled(_others(walk), MUTED).wrap(room.width)
    left = room.height - len(others)
    if len(lines) > left:
        lines = [Content.styled("…", MUTED), *lines[len(lines) - max(left - 1, 0) :]]
    return [*lines, *([Content("")] if len(lines) < left else []), *others]


def _recap(room: Size) -> list[Content]:
    rows = (
        ("n-gram", "n tokens in a row, kept as a guess"),
        ("verified", "a guess that is the model's own choice"),
        ("the text", "the model's own choices, and nothing else"),
    )
    lines = [Content.assemble((f"{name:<{LABEL + 3}}", "bold"), words) for name, words in rows]
    return [line for each in lines for line in (each, Content(""))]


_RACE_TITLE = "The race, step by step"


def raced_pages(walk: ComparedSteps) -> list[Page]:
    """Return the page, which ends with the step that the next pages explain."""
    other = f"{walk.other.capitalize()} took {count_in_words(walk.other_steps, 'run')} of the model"
    took = f"{other}, {walk.method} {len(walk.steps)}."
    if walk.stopped:
        took = f"The race was stopped; over what both had written: {took[:1].lower()}{took[1:]}"
    most = max(map(len, walk.steps), default=0)
    says = text("race steps", tokens=most) if most > 1 else text("no guesses")
    return [Page(_RACE_TITLE, f"{took} {says}", partial(_steps, walk))]


def _steps(walk: ComparedSteps, room: Size) -> list[Content]:
    best = walk.best if max(map(len, walk.steps), default=0) > 1 else 1
    first = max(0, min(best - 1 - room.height // 2, len(walk.steps) - room.height))
    lines = list[Content]()
    for number, tokens in enumerate(walk.steps[first : first + room.height], start=first + 1):
        is_best = number == best and len(tokens) > 1
        label = (f"{number:>4} {'▸' if is_best else ' '} ", "bold" if is_best else MUTED)
        cells = [part for token in tokens for part in ((shown(token.text), style_of(token.origin)), (" ", ""))]
        lines.append(Content.assemble(label, *cells).truncate(room.width, ellipsis=True))
    below = len(walk.steps) - first - len(lines)
    for line, number in ((0, first), (-1, below)):
        if number:  # its place is taken by one more
            lines[line] = Content.styled(f"   ⋮ {number + 1} more", MUTED)
    return lines
