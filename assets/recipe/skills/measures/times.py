"""Times of day and dates, worked in steps: before, after and between; weekdays and months."""

from __future__ import annotations

from collections.abc import Sequence

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import work
from assets.recipe.user_words import calculated, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("measures/times")
_HALVES = ((" ", "am", "pm"), (" ", "am", "pm"), ("", "am", "pm"), (" ", "a.m.", "p.m."))
_PARTS_OF_DAY = (" ", "in the morning", "in the afternoon", "in the evening")
_SPANS = words.pairs(_WORDING, "spans")
_DAYS_OF = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def chain(*steps: tuple[int, int, str]) -> str:
    """The steps worked, each a sentence."""
    return ". ".join(work(*step)[0] for step in steps)


def _shown(draw: Draw, hour: int, minute: int, halves: Sequence[str]) -> str:
    """The time as the clock of a station shows it, or of the morning and the afternoon."""
    if not halves:
        return f"{hour:02}:{minute:02}" if draw.chance(0.1) else f"{hour}:{minute:02}"
    space, *names = halves
    name = names[min(hour // 6 - 1, len(names) - 1) if hour > 11 else 0]
    return f"{(hour - 1) % 12 + 1}{f':{minute:02}' if minute or draw.chance(0.2) else ''}{space}{name}"


def _on_24(shown: str, hour: int, minute: int) -> str:
    """The time of the morning or the afternoon told on the clock of 24 hours."""
    return f"{shown} is {f'{hour - 12} + 12 = {hour}, ' if hour > 12 else ''}{hour}:{minute:02}"


def _between(draw: Draw) -> list[Exchange]:
    """The minutes between two times, or the hours and minutes; the second may be of the next day."""
    way = draw.any(("lasts", "lasts", "minutes_between"))
    halves = draw.any((*_HALVES, *[_PARTS_OF_DAY] * 2)) if draw.chance(0.45 if way == "lasts" else 0.15) else ()
    hour = draw.any((draw.whole(1, 14), draw.whole(0, 23), draw.whole(18, 23)))
    hours = draw.any((*[1, 2, 3] * (1 if halves else 2), 4, 6, 7, 8, 9))
    step = 5 if draw.chance(0.85) else 1
    start, stop = (step * draw.whole(0, 59 // step) for _ in range(2))
    if draw.chance(0.5 if halves else 0.12):
        start = stop = 0
    elif start != stop and not halves and draw.chance(0.6 if way == "minutes_between" else 0.15):
        hours, start, stop = 0, min(start, stop), max(start, stop)
    end, minute = hour + hours, stop
    x, y = _shown(draw, hour, start, halves), _shown(draw, end % 24, stop, halves)
    lines = [_on_24(x, hour, start), _on_24(y, end % 24, stop)] if halves else [f"From {x} to {y}"]
    # Both are compared first, so that whether a day or an hour is to be added need not be guessed.
    if end > 23:
        lines.append(f"{end - 24} is less than {hour}: {end - 24}:{stop:02} is {end}:{stop:02}")
    elif end > hour:
        lines.append(f"{end} is more than {hour}")
    if stop < start:
        lines.append(f"{stop} is less than {start}: {end}:{stop:02} is {end - 1}:{stop + 60}")
        end, minute = end - 1, stop + 60
    elif stop > start:
        lines.append(f"{stop} is more than {start}")
    lines.append(f"{end} - {hour} = {end - hour}")
    if minute or start:
        lines.append(f"{minute} - {start} = {minute - start}")
    if way == "minutes_between":
        whole = (end - hour) * 60
        if whole:
            lines.append(chain((end - hour, 60, "×"), *([(whole, minute - start, "+")] if minute > start else [])))
        total = whole + minute - start
        return calculated(draw, _WORDING, way, f"{'. '.join(lines)}. That is {total} minutes.", total, x=x, y=y)
    return [worked(draw.asked(_WORDING, way, x=x, y=y), ". ".join(lines), f"{_span(end - hour, minute - start)}.")]


def _later(hour: int, minute: int, minutes: int, hours: int = 0, last: int = 23) -> tuple[str, int, int]:
    """The steps to a time so much later on a clock whose last hour is this one, and the hour and the minute then."""
    lines = [f"{over} - 60 = {over - 60}" for over in range(minutes, 59, -60)]
    if lines:
        hours, minutes = divmod(minutes, 60)
        lines.append(_span(hours, minutes))
    total = minute + minutes
    lines += [f"{minute} + {minutes} = {total}"] * (minutes > 0) + [f"{total} - 60 = {total - 60}"] * (total > 59)
    hours += total // 60
    if hours:
        lines.append(f"{hour} + {hours} = {hour + hours}")
    hour, round_ = hour + hours, 24 if last == 23 else 12
    if hour > last:
        lines.append(f"{hour} - {round_} = {hour - round_}")
        hour -= round_
    return ". ".join(lines), hour, total % 60


def _earlier(hour: int, minute: int, minutes: int, hours: int = 0, last: int = 23) -> tuple[str, int, int]:
    """The steps to a time so much earlier on such a clock, and the hour and the minute then."""
    lines = []
    if minute < minutes:
        before = hour - 1 or last % 23
        lines.append(f"{minute} is less than {minutes}: {hour}:{minute:02} is {before}:{minute + 60}")
        hour, minute = before, minute + 60
    if hours >= hour and last == 12:
        lines.append(f"{hour} + 12 = {hour + 12}")
        hour += 12
    lines += [chain((one, less, "-")) for one, less in ((minute, minutes), (hour, hours)) if less]
    return ". ".join(lines), hour - hours, minute - minutes


def _span(hours: int, minutes: int) -> str:
    """So many hours and minutes, or those of them that are not zero."""
    return " ".join(f"{n} {unit}{'s' * (n > 1)}" for n, unit in ((hours, "hour"), (minutes, "minute")) if n)


def _clock(draw: Draw) -> list[Exchange]:
    """A time so long after another or before it, on the clock of 24 hours or on that of 12, which begins again."""
    halves, minute, hours = draw.chance(0.27), 5 * draw.whole(0, 11), draw.whole(1, 5)
    named = not halves and draw.chance(0.25)
    hour = draw.whole(0, 23) if halves else draw.any((draw.whole(1, 19), draw.whole(1, 23)))
    hour, minute = (draw.whole(1, 12), 15 * draw.whole(0, 3)) if named else (hour, minute)
    way = draw.any((*["hours_later", "minutes_later"] * 3, *["hours_before", "both_later", "span_before"] * 2,
                    *["minutes_before"] * 4, *["span_later"] * 3))  # fmt: skip
    back, hours = way.endswith("before"), 0 if way.startswith("minutes") else hours if halves else min(hours, hour)
    minutes = draw.any((60, 75, 90, 120)) if way == "minutes_later" and draw.chance(0.3) else 5 * draw.whole(1, 11)
    minutes = 0 if way.startswith("hours") else minutes
    (span, length), told = draw.any(_SPANS), ""
    if way.startswith("span"):
        hours, minutes = divmod(int(length), 60)
        hour, told = max(hour, hours + 1), f"{span} is {_span(hours, minutes)}. "
    minute = draw.any((0, minute)) if halves else minute
    first, last = ((hour - 1) % 12 + 1, 12) if halves or named else (hour, 23)
    line, then, after = (_earlier if back else _later)(first, minute, minutes, hours, last)
    x, answer, k = f"{hour}:{minute:02}", f"{then}:{after:02}.", hours or minutes
    if halves:
        space, *names = draw.any(_HALVES)
        ends = [hour // 12, (hour * 60 + minute + (60 * hours + minutes) * (-1 if back else 1)) // 720 % 2]
        x, answer = (f"{n}{f':{m:02}' if minute or minutes else ''}{space}{names[end]}"
                     for n, m, end in zip((first, then), (minute, after), ends, strict=True))  # fmt: skip
    shown, said = draw.any((k, spelled(k))) if k < 6 else k, _spoken(draw, hour, minute) if named else x
    told = f"{said} is {x}. {told}" if named else told
    ask = draw.asked(_WORDING, way, x=said, k=shown, m=minutes, s="s" * (k > 1), d=span)
    return [worked(ask, f"{told}{x} {'-' if back else '+'} {_span(hours, minutes)}: {line}", answer)]


def _calendar(draw: Draw) -> list[Exchange]:
    """The day or the month so many after or before another, all of them on the way told."""
    way, most, back = draw.any(("day", "month")), draw.any((1, draw.whole(1, 8), draw.whole(1, 11))), draw.chance(0.35)
    names = words.KINDS[f"{way}s"]
    at = draw.whole(0, len(names) - 1)
    row = [names[(at + (-step if back else step)) % len(names)] for step in range(most + 1)]
    kind = ("previous" if back else "next") if most == 1 and draw.chance(0.8) else "before" if back else "after"
    x, s = draw.any((row[0], row[0], row[0].lower())), "s" * (most > 1)
    ask = draw.asked(_WORDING, f"{way}_{kind}", x=x, k=draw.any((most, spelled(most))), s=s)
    return [worked(ask, ", ".join(row), f"{row[-1]}.")]


def _days_of(draw: Draw) -> list[Exchange]:
    """The days of a month or of a year."""
    name, days = draw.any((*zip(words.KINDS["months"], _DAYS_OF, strict=True), ("a year", 365), ("a leap year", 366)))
    return calculated(draw, _WORDING, "days_of", f"It has {days} days.", days, x=draw.any((name, name.lower())))


def _other_clock(draw: Draw) -> list[Exchange]:
    """A time of the clock of 24 hours on that of 12, or the other way round."""
    (space, *names), minute = draw.any(_HALVES), draw.any((0, 0, 30, 15, 5 * draw.whole(0, 11), draw.whole(0, 59)))
    hour = draw.any((draw.whole(13, 23), draw.whole(13, 23), draw.whole(0, 12)))
    late, first = names[hour > 11], (hour - 1) % 12 + 1
    long = f"{hour:02}:{minute:02}" if draw.chance(0.4) else f"{hour}:{minute:02}"
    way = draw.any(("to 24", "to 12"))
    if way == "to 12":
        line = f"{hour} - 12 = {first}" if hour > 12 else f"{hour} is {first}"
        return [worked(draw.asked(_WORDING, way, x=long), f"{long}: {line}", f"{first}:{minute:02} {late}")]
    shown, told = f"{first}{f':{minute:02}' if minute or draw.chance(0.4) else ''}{space}{late}", ""
    if minute % 15 == 0 and hour % 12 and draw.chance(0.6):
        late, said = _PARTS_OF_DAY[1 + (hour > 11) + (hour > 17)], _spoken(draw, first, minute)
        x, shown, told = f"{said} {late}", f"{first}:{minute:02} {late}", f"{said} is {first}:{minute:02}. "
    ask = draw.asked(_WORDING, way, x=x if told else shown)
    return [worked(ask, told + _on_24(shown, hour, minute), f"{hour}:{minute:02}")]


def _date(draw: Draw) -> list[Exchange]:
    """The date so many days after another one, or before it in its month; the days between two dates of a month."""
    at, day, days = draw.whole(0, 11), draw.whole(1, 20), draw.any((draw.whole(2, 8), draw.whole(2, 20), 10, 7, 14))
    month, shape = words.KINDS["months"][at], draw.any(("{m} {d}", "{m} {d}", "{d} {m}"))
    way = draw.any(("date_after", "date_after", "date_before", "date_over", "days_between"))
    if way == "date_over":
        day = draw.whole(max(2, _DAYS_OF[at] - days + 1), _DAYS_OF[at])
        over, following = day + days - _DAYS_OF[at], words.KINDS["months"][(at + 1) % 12]
        ask = draw.asked(_WORDING, "date_after", x=shape.format(m=month, d=day), k=days)
        line = f"{chain((day, days, '+'))}. {month} has {_DAYS_OF[at]} days. {chain((day + days, _DAYS_OF[at], '-'))}"
        return [worked(ask, line, f"{shape.format(m=following, d=over)}.")]
    days = min(days, _DAYS_OF[at] - day)
    first, then = (day + days, day) if way == "date_before" else (day, day + days)
    said = {"x": shape.format(m=month, d=first), "k": draw.any((days, spelled(days)))}
    if way == "days_between":
        line, end = f"{chain((then, first, '-'))} days.", shape.format(m=month, d=then)
        return calculated(draw, _WORDING, way, line, days, x=said["x"], y=end)
    ask = draw.asked(_WORDING, way, **said)
    return [worked(ask, chain((first, days, "+" if then > first else "-")), f"{shape.format(m=month, d=then)}.")]


def _spoken(draw: Draw, hour: int, minute: int) -> str:
    """A quarter of an hour as it is said, such as "half past four"."""
    if minute == 0 and hour == 12 and draw.chance(0.6):
        return draw.any(("noon", "midday"))
    hour = hour % 12 + 1 if minute == 45 else hour
    return draw.any(_WORDING[f"spoken {minute}"]).format(draw.any((hour, spelled(hour))))


def _years(draw: Draw) -> list[Exchange]:
    """The years between two years, or the year so many later or before."""
    year, years = draw.whole(1900, 2030), draw.whole(2, 90)
    way = draw.any(("years_between", "years_between", "year_later", "year_before"))
    if way == "years_between":
        line = f"{chain((year + years, year, '-'))} years."
        return calculated(draw, _WORDING, way, line, years, x=year, y=year + years, n=draw.name())
    line, then = work(year, years, "+" if way == "year_later" else "-")
    return calculated(draw, _WORDING, way, f"{line}.", then, x=year, k=years)


TIMES = (*[_clock] * 9, *[_between] * 8, *[_calendar, _date] * 2, _other_clock, _days_of, _years)
