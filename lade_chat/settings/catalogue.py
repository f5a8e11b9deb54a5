"""Every setting: its name, its kind of value, and its meaning.

To add one, list it here, and say what it does: a setting of the open chat alone in
`lade_chat/tui/chat/chat_settings.py`; one that is a flag too, of the same name, in `lade_chat/cli/flags`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from lade_chat.presentation.token_looks import VIEWS

Value: TypeAlias = bool | int | float | str | tuple[str, ...]

_MAX_WHOLE = 2**64 - 1
"""The largest whole number that is passed between processes."""
_QUOTED = re.compile(r"""\A(["'])(.+)\1\Z""")
_ESCAPE = re.compile(r"\\(n|\\)")
_ESCAPES = {"n": "\n", "\\": "\\"}
_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
ENVIRONMENT = "LADE_CHAT_"


@dataclass(frozen=True)
class Switch:
    """True or false."""

    def check(self, value: object) -> Value:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value

    def parse(self, text: str) -> Value:
        if text.strip().lower() not in _SWITCHES:
            raise ValueError("true or false")
        return _SWITCHES[text.strip().lower()]


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` (excluded if ``above``) to ``high``."""

    low: float = 0
    high: float = math.inf
    above: bool = False
    whole: bool = False

    @property
    def words(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind} above {self.low:g}" if self.above else f"{kind} of at least {self.low:g}"
        high = "2⁶⁴ - 1" if self.high >= 2**63 else f"{self.high}"
        return f"{kind} above {self.low:g}, at most {high}" if self.above else f"{kind} from {self.low:g} to {high}"

    def check(self, value: object) -> Value:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            raise ValueError(self.words)
        if isinstance(value, int) and value > _MAX_WHOLE:  # too large for a float, perhaps
            raise ValueError("a number below 2⁶⁴" if self.high == math.inf else self.words)
        enough = value > self.low if self.above else value >= self.low
        if not (math.isfinite(value) and enough and value <= self.high):
            raise ValueError(self.words)
        return value if self.whole else float(value)

    def parse(self, text: str) -> Value:
        try:
            value = int(text) if self.whole else float(text)
        except ValueError:
            raise ValueError(self.words) from None
        return self.check(value)


@dataclass(frozen=True)
class Text:
    """A text; one of ``choices`` if there are any. A name is not empty."""

    choices: tuple[str, ...] = ()
    is_name: bool = False

    def check(self, value: object) -> Value:
        if not isinstance(value, str) or (self.is_name and not value.strip()):
            raise ValueError(self._words)
        if self.choices and value not in self.choices:
            raise ValueError(self._words)
        return value

    def parse(self, text: str) -> Value:
        return self.check(text)

    @property
    def _words(self) -> str:
        if self.choices:
            return " or ".join(self.choices)
        return "a text in quotes that is not empty" if self.is_name else "a text in quotes"


@dataclass(frozen=True)
class Texts:
    """Non-empty texts; written one per line, in quotes or not, with \\n for a line break and \\\\ for a backslash."""

    def check(self, value: object) -> Value:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            raise ValueError("a list of non-empty texts")
        return tuple(texts)

    def parse(self, text: str) -> Value:
        lines = (_QUOTED.sub(r"\2", line) for line in text.split("\n") if line)
        return tuple(_ESCAPE.sub(lambda found: _ESCAPES[found[1]], line) for line in lines)


Kind: TypeAlias = Switch | Number | Text | Texts
"""A kind of value: ``check`` validates one as TOML gives it, ``parse`` a text. Their errors read on after "must be"."""


def as_text(value: Value) -> str:
    """Write a value for a form; ``Kind.parse`` reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "\n".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _written(text: str) -> str:
    """Write one of several texts, in quotes where it would lose its spaces or quotes otherwise."""
    line = re.sub(r"\\(?=[n\\\n])", r"\\\\", text).replace("\n", "\\n")
    return f'"{line}"' if line != line.strip() or _QUOTED.fullmatch(line) else line


@dataclass(frozen=True)
class Setting:
    """One setting. ``parameter`` is its name inside the command line, if that is another."""

    name: str
    kind: Kind
    meaning: str
    parameter: str = ""
    default: Value | None = None
    """The value of a setting that is not a shared flag; a shared flag has its own default."""

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return ENVIRONMENT + self.name.upper()

    @property
    def field(self) -> str:
        return self.parameter or self.name


_NAME = Text(is_name=True)
_SHARE = Number(0, 1, above=True)
_SETTINGS = (
    Setting("model_path", _NAME, "a model's folder, file or hub id; without it, the bundled model"),
    Setting("device", _NAME, "cpu, cuda, cuda:1, mps; without it, the best"),
    Setting("dtype", _NAME, "float32, bfloat16, float16, float64 or int8; auto or without it, what suits the device"),
    Setting("compile", Switch(), "whether steps go through torch.compile", "compiled"),
    Setting("lookahead", Switch(), "whether replies are decoded by lookahead"),
    Setting("window_size", Number(0, whole=True), "W, fixed; 0: no window; without W, N and G sizes are automatic"),
    Setting("ngram_size", Number(2, whole=True), "N, fixed: the length of the guessed n-grams"),
    Setting("guess_set_size", Number(0, whole=True), "G, fixed: the most n-grams that a step checks; 0: none"),
    Setting("max_new_tokens", Number(1, 1_000_000, whole=True), "the most tokens of a reply"),
    Setting("sampling", Text(("greedy", "model")), "the base of temperature to seed: greedy, or the model's own"),
    Setting("temperature", Number(0), "more is more varied, 0 is greedy"),
    Setting("top_p", _SHARE, "only the likeliest tokens with this total probability"),
    Setting("top_k", Number(0, whole=True), "only this many likeliest tokens; 0 for all"),
    Setting("min_p", Number(0, 1), "only tokens with this share of the likeliest one's probability"),
    Setting("typical_p", _SHARE, "only the most typical tokens with this total probability"),
    Setting("repetition_penalty", Number(0, above=True), "above 1, tokens already in the text become less likely"),
    Setting("seed", Number(0, 2**64 - 1, whole=True), "one seed, one text; without it, one is drawn"),
    Setting("stop", Texts(), "texts before which a reply ends"),
    Setting("think", Switch(), "whether the model thinks first; without it, as its chat template says"),
    Setting("max_thought_tokens", Number(1, 1_000_000, whole=True), "the most tokens of a thought; the answer follows"),
    Setting("system", Text(), "the system message of new conversations"),
    Setting("raw", Switch(), "whether to continue the bare text, without roles"),
    Setting("debug", Switch(), "whether to show the speed-up and the details of decoding"),
    Setting(
        "screen_reader",
        Switch(),
        "whether ask and compare write whole lines without colours, for screen readers",
        default=False,
    ),
    Setting("save", Switch(), "whether ask saves its turn as a conversation", default=True),
    Setting("remember", Switch(), "whether replies are guessed from earlier conversations", default=True),
    Setting("read_ahead", Switch(), "whether the idle model reads what you type before you send it", default=True),
    Setting("open_thoughts", Switch(), "whether thoughts are shown, or folded to a line", default=False),
    Setting("sidebar", Switch(), "whether the conversations stand beside the chat, from 120 columns on", default=False),
    Setting("data_dir", _NAME, "the folder of the conversations"),
    Setting("theme", _NAME, "the colours of the chat, by their name in its palette"),
    Setting("colours", Text(VIEWS), "whether verified tokens are coloured alike, or each by its source"),
)
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _SETTINGS}

MODEL_SETTINGS = ("model_path", "device", "dtype", "compile")
"""The settings that also apply to ``bench`` and ``tune``, which otherwise follow their own flags."""
