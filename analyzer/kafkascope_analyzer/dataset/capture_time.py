"""Formats times since the capture's start, and durations, for sentences and reports."""

_NS_PER_MS = 1_000_000


def since_start(ns: int) -> str:
    """Returns the time since the capture's start as mm:ss.mmm, with hours where there are any."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    minutes, ms = divmod(ns // _NS_PER_MS, 60_000)
    hours, minutes_left = divmod(minutes, 60)
    head = f"{hours}:{minutes_left:02d}" if hours else f"{minutes:02d}"
    return f"{sign}{head}:{ms // 1000:02d}.{ms % 1000:03d}"


def duration_text(us: int) -> str:
    """Returns a duration in microseconds with about three significant digits: 85 µs, 1.20 ms, 340 ms, 2.35 s, 4 min 10
    s."""
    if us < 0:
        return "-" + duration_text(-us)
    if us < 1_000:
        return f"{us} µs"
    for limit, unit, name in ((1_000_000, 1_000, "ms"), (60_000_000, 1_000_000, "s")):
        if us < limit:
            value = us / unit
            return (
                f"{value:.2f} {name}" if value < 10 else f"{value:.1f} {name}" if value < 100 else f"{value:.0f} {name}"
            )
    minutes, seconds = divmod(us // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
