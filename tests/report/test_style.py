import re
from importlib import resources

import numpy as np

CSS = (resources.files("gnnbench.engine.show") / "templates" / "base.css").read_text("utf-8")


def linear(colour):
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def test_text_and_outlines_have_contrast_in_light_and_dark():
    values = (" ".join(re.findall(f"--{name}:[^;]+", CSS)) for name in ("ink", "paper"))
    inks, papers = (re.findall(r"#\w+", text) for text in values)
    assert len(inks) == len(papers) > 2
    for ink, paper in zip(inks, papers, strict=True):
        low, high = sorted(luminance(colour) for colour in (ink, paper))
        assert (high + 0.05) / (low + 0.05) > 7
