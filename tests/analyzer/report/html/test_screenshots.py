"""What the page looks like, at three sizes, light and dark, against pictures that were looked at.

Fonts and their smoothing differ between machines: pictures are compared as blocks of 16 x 16 pixels, of which a few may
differ. `KAFKASCOPE_SCREENSHOTS=keep` writes the pictures anew: look at them before they are committed.
"""

import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

KEPT = Path(__file__).with_name("screenshots")
BLOCK = 16
MOST_MEAN = 5.0
"""Mean difference of the blocks' brightness, of 255."""
MOST_OTHER = 0.06
"""Share of blocks that may differ by more than OTHER."""
OTHER = 40
VIEWS = {
    "happened": ("#happened", (1440, 900), "light"),
    "timeline": ("#timeline", (1024, 768), "dark"),
    "start": ("#client", (1440, 900), "light"),
    "phone": ("header", (390, 844), "light"),
}


def blocks(picture) -> np.ndarray:
    """Mean colour of each block."""
    size = picture.width // BLOCK, picture.height // BLOCK
    return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.BOX), np.int64)


@pytest.mark.parametrize("name", VIEWS)
def test_looks_as_it_did(opened, real_page, name):
    place, size, scheme = VIEWS[name]
    page = opened(real_page, size=size, scheme=scheme).page
    page.evaluate("place => document.querySelector(place).scrollIntoView()", place)
    page.wait_for_timeout(300)
    picture = Image.open(BytesIO(page.screenshot()))
    kept = KEPT / f"{name}.png"
    if os.environ.get("KAFKASCOPE_SCREENSHOTS") == "keep":
        KEPT.mkdir(exist_ok=True)
        small = picture.convert("RGB").resize((picture.width // 2, picture.height // 2), Image.Resampling.BOX)
        small.quantize(64).save(kept, optimize=True)
    reference = Image.open(kept).convert("RGB").resize(picture.size, Image.Resampling.BOX)
    apart = np.abs(blocks(picture) - blocks(reference)).max(axis=2)
    assert apart.mean() < MOST_MEAN
    assert (apart > OTHER).mean() < MOST_OTHER


def test_a_page_without_its_style_would_be_noticed(opened, real_page):
    """The tolerance is not so wide that anything passes."""
    page = opened(real_page, size=(1440, 900)).page
    page.evaluate("document.querySelector('style').remove()")
    picture = Image.open(BytesIO(page.screenshot()))
    reference = Image.open(KEPT / "happened.png").convert("RGB").resize(picture.size, Image.Resampling.BOX)
    assert (np.abs(blocks(picture) - blocks(reference)).max(axis=2) > OTHER).mean() > MOST_OTHER
