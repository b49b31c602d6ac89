"""Colours of the spaces that describe what the eye sees, as a screen mixes them (CSS Color 4, 10.5-10.9)."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, isfinite, radians, sin
from typing import Final

_Triple = tuple[float, float, float]
_Rows = tuple[_Triple, _Triple, _Triple]

_OKLAB_TO_LMS: Final[_Rows] = ((1, 0.3963378, 0.2158038), (1, -0.1055613, -0.0638542), (1, -0.0894842, -1.2914855))
_LMS_TO_RGB: Final[_Rows] = (
    (4.0767417, -3.3077116, 0.2309699),
    (-1.2684380, 2.6097574, -0.3413194),
    (-0.0041961, -0.7034186, 1.7076147),
)
_D50: Final = (0.9642957, 1.0, 0.8251046)
_XYZ_TO_RGB: Final[_Rows] = (  # from the white of paper (D50), on which Lab is based, to that of a screen
    (3.1341359, -1.6173859, -0.4906619),
    (-0.9787954, 1.9162544, 0.0334427),
    (0.0719554, -0.2289769, 1.4053860),
)


def to_srgb(space: str, coordinates: Sequence[float | None]) -> _Triple | None:
    """Red, green and blue; below 0 or above 1 if no screen shows the colour. None for other spaces."""
    light, second, third = (part or 0.0 for part in coordinates[:3])
    if space.endswith("lch"):
        second, third = second * cos(radians(third)), second * sin(radians(third))
    if space in ("oklab", "oklch"):
        linear = _times(_LMS_TO_RGB, tuple(part**3 for part in _times(_OKLAB_TO_LMS, (light, second, third))))
    elif space in ("lab", "lch"):
        linear = _times(_XYZ_TO_RGB, _xyz(light, second, third))
    else:
        return None
    return _gamma(linear) if all(map(isfinite, linear)) else None


def _times(rows: _Rows, values: Sequence[float]) -> _Triple:
    first, second, third = (sum(a * b for a, b in zip(row, values, strict=True)) for row in rows)
    return first, second, third


def _xyz(light: float, a: float, b: float) -> _Triple:
    middle = (light + 16) / 116
    roots = (middle + a / 500, middle, middle - b / 200)
    x, y, z = (
        white * (root**3 if root**3 > 216 / 24389 else (116 * root - 16) * 27 / 24389)
        for white, root in zip(_D50, roots, strict=True)
    )
    return x, y, z


def _gamma(linear: _Triple) -> _Triple:
    red, green, blue = (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in linear)
    return red, green, blue
