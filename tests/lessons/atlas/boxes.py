"""Whether texts of a picture lie one over the other."""

from __future__ import annotations

from itertools import combinations

from mqlab.lessons.atlas.pictures import Box, Picture


def find_overlaps(picture: Picture) -> list[tuple[Box, Box]]:
    return [
        (one, other)
        for one, other in combinations(picture.boxes(), 2)
        if abs(2 * (one.x - other.x) + one.width - other.width) < one.width + other.width
        and abs(2 * (one.y - other.y) + one.height - other.height) < one.height + other.height
    ]
