"""How a time is written that counts from the capture's start."""

_NS_PER_MS = 1_000_000


def since_start(ns: int) -> str:
    """Time since the capture's start as mm:ss.mmm, with hours where there are any."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    minutes, ms = divmod(ns // _NS_PER_MS, 60_000)
    hours, minutes_left = divmod(minutes, 60)
    head = f"{hours}:{minutes_left:02d}" if hours else f"{minutes:02d}"
    return f"{sign}{head}:{ms // 1000:02d}.{ms % 1000:03d}"
