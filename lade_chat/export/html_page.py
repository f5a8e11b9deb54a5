"""A reply or a race as one self-contained HTML page."""

from __future__ import annotations

from itertools import groupby

from lade_chat.export.card import columns_of
from lade_chat.export.content import Content, Recording, metrics_of, title_of
from lade_chat.export.theme import DARK, LIGHT, Colours, Theme, fixed
from lade_chat.presentation.sanitize import safe
from lade_chat.presentation.sources import LOOKS
from lade_chat.presentation.status_parts import SEPARATOR

_VARIABLES = ("ground", "bar", "rule", "text", "dim", "question", "verdict")
_STYLE = """\
* { box-sizing: border-box }
html { overflow-x: clip; background: var(--ground); color: var(--text); -webkit-text-size-adjust: 100%;
  print-color-adjust: exact; -webkit-print-color-adjust: exact }
body { margin: 0; padding: 0 max(1rem, 50% - COLUMNSch / 2) 2rem;
  font: 15px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace }
header { margin: 0 -100vw 1rem; padding: .4rem 100vw; background: var(--bar) }
h1, h2, pre, p, dl, dd { margin: 0; font: inherit }
pre { white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 8; unicode-bidi: plaintext }
h2, .metrics, dd { color: var(--dim) }
.question { color: var(--question); margin-bottom: 1rem }
.metrics { margin: 1rem 0 0 -3ch; clip-path: inset(0 0 0 3ch) }
.metrics span { display: inline-block; white-space: pre }
.metrics span:first-child { margin-left: 3ch }
.race { display: grid; grid-template-columns: 1fr 1fr }
.race section { display: flex; flex-direction: column; min-width: 0; padding-right: 1.5ch }
.race section + section { padding: 0 0 0 1.5ch; border-left: 1px solid var(--rule) }
.race pre { flex: 1; margin-top: .5rem }
.verdict { margin-top: 1rem }
.won { color: var(--verdict) }
dl { margin-top: 1rem; display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1ch }
dt { padding: 0 1ch }
TINTS
@media (max-width: 48rem) {
  .race { grid-template-columns: 1fr }
  .race section { padding: 0 }
  .race section + section { margin-top: 1.5rem; padding: 1.5rem 0 0; border: 0; border-top: 1px solid var(--rule) }
}
"""
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
    columns = str(columns_of(content))
    question = content.asked.strip()
    title = " ".join(question.split())
    parts = [
        "<!DOCTYPE html>",
        '<html lang="und">' if theme == "auto" else f'<html lang="und" style="color-scheme: {theme}">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        # Nothing in a model's text may load or run anything, even if it were taken for markup.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{safe(title[:80] or content.heading()[0])}</title>",
        f"<style>\n{_colours(theme)}{_STYLE.replace('COLUMNS', columns).replace('TINTS', _TINTS)}</style></head>",
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
