"""Views of what a step drafts: its window with the n-grams collected, and its candidates with the accepted path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import set_cell_size
from textual.content import Content
from textual.style import Style

from lade_chat.presentation.status_parts import cut
from lade_chat.protocol.inspection import Candidate, Inspection, RankedToken
from lade_chat.tui.inspector.redrawn import children_of, plainly, shown
from lade_chat.tui.theme.token_colour import style_of

LABEL = 5
WIDEST, NARROWEST = 9, 4
NGRAMS = 3
"""N-grams that are written out."""


def draw_window(inspection: Inspection, width: int) -> list[Content]:
    """Return the window as a grid. Row r is shifted r positions to the right, so n-grams run down its columns."""
    rows = inspection.window
    if not rows:
        if inspection.candidates:
            return [Content.styled("no window in this step: it would cost more than it wins", "$foreground-muted")]
        return [Content.styled(plainly(inspection), "$foreground-muted")]
    positions = len(rows[0]) + len(rows)
    cell = max(NARROWEST, min(WIDEST, (width - LABEL) // positions))
    fitting = (width - LABEL) // cell
    lines = [_line("", [f"+{place + 1}" for place in range(positions)], 0, cell, fitting, "$foreground-muted")]
    lines += [
        _line(f"{index - len(rows):+d}", [shown(token, cell - 1) for token in row], index, cell, fitting, "")
        for index, row in enumerate(rows)
    ]
    new = [shown(token, cell - 1) for token in inspection.new_row]
    lines.append(_line("new", new, len(rows), cell, fitting, "bold $text-success"))
    return [*lines, *_ngrams(inspection, width)]


def _line(label: str, cells: list[str], offset: int, cell: int, fitting: int, style: str) -> Content:
    """One row of the grid, as many of its cells as there is room for."""
    padded = ["" for _ in range(offset)] + cells
    text = "".join(set_cell_size(each, cell) for each in padded[:fitting])
    return Content.assemble((set_cell_size(label, LABEL), "$foreground-muted"), (text.rstrip(), style))


def _ngrams(inspection: Inspection, width: int) -> list[Content]:
    ngrams = inspection.ngrams
    if not ngrams:
        missing = inspection.ngram_size - 1 - len(inspection.window)
        return [Content.styled(f"filling: n-grams from {missing} steps on", "$foreground-muted")]
    lines = [Content.styled(f"{len(ngrams)} n-grams, each read down a slope:", "$foreground-muted")]
    for ngram in ngrams[:NGRAMS]:
        lines.append(Content(cut(" ".join(map(shown, ngram)), width)))
    return lines


MUTED = "$foreground-muted"
MAX_LINES = 8
"""Of the tree; the likeliest branches come first."""


def draw_tree(inspection: Inspection, width: int) -> list[Content]:
    """Return the candidate tree as text; a chain of single children is drawn on one line."""
    if not inspection.candidates:
        why = "no candidates in this step" if inspection.window else plainly(inspection)
        return [Content.styled(why, "$foreground-muted"), *_end(inspection)]
    lines = list(_branches(inspection, width))
    more = len(lines) - MAX_LINES
    lines = lines[:MAX_LINES]
    if more > 0:
        lines.append(
            Content.styled(f"  … and {more} more {'branch' if more == 1 else 'branches'}", "$foreground-muted")
        )
    return [
        Content.assemble(("last token ", "$foreground-muted"), shown(inspection.last)),
        *lines,
        *_end(inspection),
    ]


def _branches(inspection: Inspection, width: int) -> Iterator[Content]:
    children = children_of(inspection.candidates)
    waiting = [(number, 0) for number in reversed(children[0])]
    while waiting:
        number, depth = waiting.pop()
        run = [number]
        while len(children[run[-1]]) == 1 and _alike(inspection, run[-1], children[run[-1]][0]):
            run.append(children[run[-1]][0])
        waiting += [(child, depth + 1) for child in reversed(children[run[-1]])]
        yield _branch([inspection.candidates[each - 1] for each in run], depth, width)


def _branch(run: list[Candidate], depth: int, width: int) -> Content:
    first = run[0]
    mark = "✓" if first.accepted else "·"
    text = " ".join(shown(each.text) for each in run)
    probability = "" if run[-1].probability is None else f" {run[-1].probability:4.0%}"
    source = f" {first.origin}{probability}"
    indent = "  " * min(depth, 6)
    room = max(4, width - len(indent) - len(source) - 3)
    style = style_of(first.origin) if first.accepted else "$foreground-muted"
    return Content.assemble(f"{indent}{mark} ", (cut(text, room), style), (source, "$foreground-muted"))


def _end(inspection: Inspection) -> list[Content]:
    """Return the tokens that the step emitted; the last one was not a candidate."""
    if not inspection.settled:
        return []
    after = _following(inspection.likeliest) if inspection.likeliest else []
    *guessed, own = inspection.settled
    sources = [candidate.origin for candidate in inspection.candidates if candidate.accepted]
    return [
        Content.assemble(
            ("settled ", "$foreground-muted"),
            *((f"{shown(token)} ", style_of(origin)) for token, origin in zip(guessed, sources, strict=False)),
            (shown(own), "bold"),
        ),
        *after,
    ]


def _following(tokens: Sequence[RankedToken]) -> list[Content]:
    """Return the tokens that may come next, each of which a click chooses unless it is half a character."""
    following = [
        Content.styled(
            f"{shown(token.text or token.name)} {token.probability:.0%}",
            Style.from_meta({"@click": f"screen.take_next({number})"}) if token.text or token.ends else "",
        )
        for number, token in enumerate(tokens)
    ]
    line = Content.assemble("next, the model's own: ", Content(" · ").join(following))
    return [line.stylize_before(MUTED), Content.styled("a click or /token has another reply go on with one", MUTED)]


def _alike(inspection: Inspection, first: int, second: int) -> bool:
    """Return whether two candidates of one branch fit on one line."""
    a, b = (inspection.candidates[number - 1] for number in (first, second))
    return (a.origin, a.accepted) == (b.origin, b.accepted)
