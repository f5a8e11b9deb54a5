"""A reply or a race as one self-contained HTML page."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from lade_chat.export.card import columns_of
from lade_chat.export.content import Content, Recording, metrics_of, title_of
from lade_chat.export.theme import DARK, LIGHT, Colours, Theme, fixed
from lade_chat.presentation.sanitize import safe
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.presentation.token_looks import LOOKS

_VARIABLES = ("ground", "bar", "rule", "text", "dim", "question", "verdict")
_LETTERS = {"italic": "font-style: italic", "bold": "font-weight: bold"}
_TINTS = "\n".join(
    [
        *(f".{shown} {{ background: var(--{shown}) }}" for shown in LOOKS),
        "@media (forced-colors: active) {",
        f"  {', '.join(f'.{shown}' for shown in LOOKS)} {{ text-decoration: underline }}",
        *(f"  .{shown} {{ {_LETTERS[look.mark]} }}" for shown, look in LOOKS.items() if look.mark),
        "}",
    ]
)


def html_page(content: Content, theme: Theme) -> bytes:
    """Return the page."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    style = style.replace("COLUMNS", str(columns_of(content))).replace("TINTS", _TINTS)
    question = content.asked.strip()
    title = " ".join(question.split())
    parts = [
        "<!DOCTYPE html>",
        '<html lang="und">' if theme == "auto" else f'<html lang="und" style="color-scheme: {theme}">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        # Nothing in a model's text may load or run anything, even if it were taken for markup.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{safe(title[:80] or content.heading()[0])}</title>",
        f"<style>\n{_colours(theme)}{style}</style></head>",
        f"<body><header><h1>{safe(SEPARATOR.join(content.heading()))}</h1></header>",
        # The line break behind <pre> is dropped by browsers: one at the text's beginning is not.
        f'<pre class="question">\n&gt; {safe(question)}</pre>' if question else "",
        f'<main class="{"race" if content.is_race else "reply"}">',
        *(_section(content, side) for side in content.sides),
        "</main>",
        *(f'<p class="verdict{" won" if content.is_won else ""}">{safe(line)}</p>' for line in content.verdict),
        _legend(content),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part).encode()


def _section(content: Content, side: Recording) -> str:
    title = f"<h2>{safe(title_of(side))}</h2>" if content.is_race else ""
    # A separator belongs to the part behind it, and is hidden at the beginning of a line.
    metrics = "".join(
        f"<span>{SEPARATOR if number else ''}{safe(metric)}</span>"
        for number, metric in enumerate(metrics_of(side, titled=content.is_race))
    )
    # The pieces, grouped by look, with the look's meaning as their tooltip.
    spans, legend = [], content.legend()
    for shown, pieces in groupby(side.pieces, key=content.shown_as):
        if text := safe("".join(piece.text for piece in pieces)):
            spans.append(f'<span class="{shown}" title="{safe(f"{shown}: {legend[shown]}")}">{text}</span>')
    return f'<section>{title}<pre class="text">\n{"".join(spans)}</pre><p class="metrics">{metrics}</p></section>'


def _legend(content: Content) -> str:
    entries = (f'<dt class="{shown}">{shown}</dt><dd>{safe(text)}</dd>' for shown, text in content.legend().items())
    return f"<dl>{''.join(entries)}</dl>"


def _colours(theme: Theme) -> str:
    """The colours as variables: one theme's, or whichever the reader prefers."""
    if theme != "auto":
        return f":root {{ {_variables(fixed(theme))} }}\n"
    return (
        f":root {{ color-scheme: dark light; {_variables(DARK)} }}\n"
        f"@media (prefers-color-scheme: light) {{ :root {{ {_variables(LIGHT)} }} }}\n"
    )


def _variables(colours: Colours) -> str:
    named: dict[str, str] = {name: getattr(colours, name) for name in _VARIABLES}
    named |= {str(shown): tint for shown, tint in colours.tints.items()}
    return "; ".join(f"--{name}: {value}" for name, value in named.items())
