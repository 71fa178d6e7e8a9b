import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from gnnbench.report.style import PARTS, REST_FILL

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
CSS = (resources.files("gnnbench.report") / "templates" / "base.css").read_text("utf-8")


def linear(colour):
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def oklab(rgb):
    """Ottosson's perceptual colour space, in which 0.02 is about the least difference that is seen."""
    cones = np.cbrt(
        np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
        @ np.clip(rgb, 0, 1)
    )
    return np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]) @ cones


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_of_parts_are_told_apart(eyes):
    seen = {colour: oklab(SEEN[eyes] @ linear(colour)) for colour in (*PARTS, REST_FILL)}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.07, (one, other)


def test_text_and_outlines_have_contrast_in_light_and_dark():
    inks, papers = (re.findall(rf"--{name}: (#\w+)", CSS) for name in ("ink", "paper"))
    assert len(inks) == len(papers) > 2
    for ink, paper in zip(inks, papers, strict=True):
        low, high = sorted(luminance(colour) for colour in (ink, paper))
        assert (high + 0.05) / (low + 0.05) > 7
