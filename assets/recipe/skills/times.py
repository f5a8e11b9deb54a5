"""Times of day and dates, worked in steps: before, after and between; weekdays and months."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.arithmetic import work
from assets.recipe.user_words import worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("times")
_HALVES = ((" ", "am", "pm"), (" ", "am", "pm"), ("", "am", "pm"), (" ", "a.m.", "p.m."))
_DAYS_OF = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def chain(*steps: tuple[int, int, str]) -> str:
    """The steps worked, each a sentence."""
    return ". ".join(work(*step)[0] for step in steps)


def _between(draw: Draw) -> list[Exchange]:
    """The minutes between two times, or the hours and minutes."""
    hour, hours = draw.whole(1, 14), draw.any((1, 1, 2, 3, 4, 8, 9))
    start, stop = 5 * draw.whole(0, 11), 5 * draw.whole(0, 11)
    said = {"x": f"{hour}:{start:02}", "y": f"{hour + hours}:{stop:02}"}
    if draw.chance(0.25):
        start, stop = min(start, stop), max(start, stop)
        said = {"x": f"{hour}:{start:02}", "y": f"{hour + hours}:{stop:02}"}
        line, left = f"{hour + hours} - {hour} = {hours}. {stop} - {start} = {stop - start}", stop - start
        lasts = f"{hours} hour{'s' * (hours > 1)}" + (f" {left} minutes" if left else "")
        return [worked(draw.asked(_WORDING, "lasts", **said), line, f"{lasts}.")]
    whole = hours * 60
    steps = (hours, 60, "×"), (whole, stop, "+"), (whole + stop, start, "-")
    line = f"{hour + hours} - {hour} = {hours}. {chain(*steps)} minutes."
    return [Exchange(draw.asked(_WORDING, "minutes_between", **said), line, ends_with_numbers(whole + stop - start))]


def _clock(draw: Draw) -> list[Exchange]:
    """A time so long after another or before it."""
    hour, minute, hours = draw.any((draw.whole(1, 19), draw.whole(1, 23))), 5 * draw.whole(0, 11), draw.whole(1, 5)
    later = draw.any((5 * draw.whole(1, 11), 5 * draw.whole(1, 11), 60, 75, 90, 100, 120))
    way = draw.any((*["hours_later", "minutes_later"] * 3, *["hours_before", "minutes_before"] * 2, "both_later"))
    x = f"{hour}:{minute:02}"
    if way.endswith("_before"):
        hours, later = min(hours, hour), later % 60 or 30
        if way == "hours_before":
            line, answer = chain((hour, hours, "-")), f"{hour - hours}:{minute:02}"
        elif later <= minute:
            line, answer = chain((minute, later, "-")), f"{hour}:{minute - later:02}"
        else:
            line = f"{x} is {hour - 1}:{minute + 60}. {chain((minute + 60, later, '-'))}"
            answer = f"{hour - 1}:{minute + 60 - later:02}"
    else:
        more, later = (0 if way == "minutes_later" else hours), (0 if way == "hours_later" else later % 60 or later)
        later = later % 60 or 5 if way == "both_later" else later
        total, steps = minute + later, []
        if later:
            steps.append(f"{minute} + {later} = {total}")
        for over in range(total, 59, -60):
            steps.append(f"{over} - 60 = {over - 60}")
        more += total // 60
        if more:
            steps.append(f"{hour} + {more} = {hour + more}")
        if hour + more > 23:
            steps.append(f"{hour + more} - 24 = {hour + more - 24}")
        line, answer = ". ".join(steps), f"{(hour + more) % 24}:{total % 60:02}"
    k = hours if way.startswith(("hours", "both")) else later
    shown = draw.any((k, spelled(k))) if k < 6 else k
    ask = draw.asked(_WORDING, way, x=x, k=shown, m=later, s="s" * (k > 1))
    return [worked(ask, line, f"{answer}.")]


def _calendar(draw: Draw) -> list[Exchange]:
    """The day or the month so many after or before another, all of them on the way told."""
    way, most, back = draw.any(("day", "month")), draw.any((1, draw.whole(1, 8))), draw.chance(0.35)
    names = words.KINDS[f"{way}s"]
    at = draw.whole(0, len(names) - 1)
    row = [names[(at + (-step if back else step)) % len(names)] for step in range(most + 1)]
    kind = ("previous" if back else "next") if most == 1 and draw.chance(0.8) else "before" if back else "after"
    x, s = draw.any((row[0], row[0], row[0].lower())), "s" * (most > 1)
    ask = draw.asked(_WORDING, f"{way}_{kind}", x=x, k=draw.any((most, spelled(most))), s=s)
    return [worked(ask, ", ".join(row), f"{row[-1]}.")]


def _days_of(draw: Draw) -> list[Exchange]:
    """The days of a month or of a year."""
    at = draw.whole(0, 13)
    names = [*zip(words.KINDS["months"], _DAYS_OF, strict=True), ("a year", 365), ("a leap year", 366)]
    name, days = names[at]
    x = name.lower() if draw.chance(0.4) else name
    return [Exchange(draw.asked(_WORDING, "days_of", x=x), f"It has {days} days.", ends_with_numbers(days))]


def _half_day(draw: Draw) -> list[Exchange]:
    """A time so many hours after another, in the morning or the afternoon."""
    hour, hours, late = draw.whole(1, 11), draw.whole(1, 9), draw.whole(0, 1)
    minutes, (space, *names) = draw.any(("", "", ":30", ":15")), draw.any(_HALVES)
    line, then = chain((hour, hours, "+")), hour + hours
    if then > 12:
        line, then = f"{line}. {chain((then, 12, '-'))}", then - 12
    after = names[late ^ (hour + hours > 11)]
    said = {"x": f"{hour}{minutes}{space}{names[late]}", "k": draw.any((hours, spelled(hours))), "s": "s" * (hours > 1)}
    return [worked(draw.asked(_WORDING, "hours_later", **said), line, f"{then}{minutes}{space}{after}")]


def _date(draw: Draw) -> list[Exchange]:
    """The date so many days after another one of the month, or before it."""
    month, day, days = draw.any(words.KINDS["months"]), draw.whole(1, 20), draw.whole(2, 8)
    way, (first, then) = draw.any((("date_after", (day, day + days)), ("date_before", (day + days, day))))
    shape = draw.any(("{m} {d}", "{m} {d}", "{d} {m}"))
    ask = draw.asked(_WORDING, way, x=shape.format(m=month, d=first), k=draw.any((days, spelled(days))))
    return [worked(ask, chain((first, days, "+" if then > first else "-")), f"{shape.format(m=month, d=then)}.")]


TIMES = (*[_clock] * 4, *[_between, _calendar] * 2, _days_of, _half_day, _date)
