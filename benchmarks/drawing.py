"""Line charts as SVG: time and memory over the size of a capture, one panel a kind. Both axes are logarithmic."""

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]
STYLES = {
    "tshark": ("#b5541c", "6 3", "square"),
    "tcpdump": ("#5b6770", "2 3", "diamond"),
    "kafkascope": ("#1f5fa8", "", "circle"),
}
"""Colour, dashes and mark, so that lines can be distinguished without colour too."""
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 220, 62, 46, 74


def charts(rows: Sequence[tuple[str, str, Mapping[str, Mapping[str, Points]]]]) -> str:
    """Rows of panels: (title, unit of y, {kind: {tool: points (MB, value)}})."""
    n = max(len(panels) for _, _, panels in rows)
    width, height = LEFT + n * (WIDTH + GAP), TOP + len(rows) * (HEIGHT + GAP + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#222"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for i, (title, unit, panels) in enumerate(rows):
        y = TOP + i * (HEIGHT + GAP + 20)
        for k, (kind, lines) in enumerate(panels.items()):
            x = LEFT + k * (WIDTH + GAP)
            parts.append(f'<text x="{x}" y="{y - 12}" font-weight="bold">{escape(f"{title}, {kind} ({unit})")}</text>')
            parts += _panel(x, y, lines)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(x: int, y: int, lines: Mapping[str, Points]) -> list[str]:
    points = [point for line in lines.values() for point in line if point[1] > 0]
    if not points:
        return [f'<text x="{x}" y="{y + 20}">not measured</text>']
    xs, ys = _range([p[0] for p in points]), _range([p[1] for p in points])
    parts = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>']
    for tick in _ticks(ys):
        at = y + HEIGHT - _share(tick, ys) * HEIGHT
        parts.append(f'<line x1="{x}" x2="{x + WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in sorted({p[0] for p in points}):
        at = x + _share(tick, xs) * WIDTH
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y + HEIGHT}" y2="{y + HEIGHT + 4}" stroke="#999"/>')
        parts.append(f'<text x="{at:.1f}" y="{y + HEIGHT + 18}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<text x="{x + WIDTH / 2}" y="{y + HEIGHT + 34}" text-anchor="middle">capture, MB</text>')
    for tool, line in lines.items():
        places = [
            (x + _share(size, xs) * WIDTH, y + HEIGHT - _share(value, ys) * HEIGHT) for size, value in line if value > 0
        ]
        parts += _line(tool, places)
    return parts


def _line(tool: str, places: list[tuple[float, float]]) -> list[str]:
    if not places:
        return []
    colour, dashes, mark = STYLES.get(tool, ("#222", "", "circle"))
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>']
    for a, b in places:
        if mark == "circle":
            parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>')
        else:
            turn = f' transform="rotate(45 {a:.1f} {b:.1f})"' if mark == "diamond" else ""
            parts.append(f'<rect x="{a - 3.5:.1f}" y="{b - 3.5:.1f}" width="7" height="7" fill="{colour}"{turn}/>')
    a, b = places[-1]
    parts.append(f'<text x="{a + 7:.1f}" y="{b - 6:.1f}" fill="{colour}">{escape(tool)}</text>')
    return parts


def _range(values: list[float]) -> tuple[float, float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max((high - low) * 0.1, 0.15)
    return low - room, high + room


def _share(value: float, span: tuple[float, float]) -> float:
    return (math.log10(value) - span[0]) / (span[1] - span[0])


def _ticks(span: tuple[float, float]) -> list[float]:
    steps = (1, 2, 5) if span[1] - span[0] < 2 else (1,)
    ticks = [m * 10.0**e for e in range(math.floor(span[0]), math.ceil(span[1]) + 1) for m in steps]
    return [tick for tick in ticks if span[0] <= math.log10(tick) <= span[1]]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
