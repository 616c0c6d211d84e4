"""A GIF from frames whose pixels are places in one palette. No library that is installed with the
labs writes one."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

UNCHANGED = 255
"""The colour of a pixel that stays as it was in the frame before."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of pixels, one byte each, and how long it is seen."""

    left: int
    top: int
    width: int
    height: int
    pixels: bytes
    centiseconds: int


def gif_of(width: int, height: int, palette: bytes, frames: Iterable[Frame]) -> bytes:
    """The file; it begins again when it has ended. `palette`: red, green, blue of each colour."""
    out = bytearray(b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0))
    out += palette[: 3 * UNCHANGED].ljust(3 * 256, b"\0")
    out += b"!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
    for frame in frames:
        out += struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 0b101, frame.centiseconds, UNCHANGED, 0)
        place = (frame.left, frame.top, frame.width, frame.height)
        out += b"," + struct.pack("<HHHHB", *place, 0) + b"\x08"
        packed = compress(frame.pixels)
        for at in range(0, len(packed), 255):
            part = packed[at : at + 255]
            out += bytes([len(part)]) + part
        out += b"\0"
    return bytes(out + b";")


CLEAR, END, FIRST, MOST = 256, 257, 258, 4096


def compress(pixels: bytes) -> bytes:
    """GIF's own LZW: codes of 9 to 12 bits, the lowest first; begun anew when they are used up."""
    out = bytearray()
    waiting = bits = 0
    known: dict[int, int] = {}
    size, following = 9, FIRST

    def put(code: int) -> None:
        nonlocal waiting, bits
        waiting |= code << bits
        bits += size
        while bits >= 8:
            out.append(waiting & 255)
            waiting >>= 8
            bits -= 8

    put(CLEAR)
    prefix = pixels[0]
    for pixel in memoryview(pixels)[1:]:
        longer = known.get(prefix << 8 | pixel)
        if longer is not None:
            prefix = longer
            continue
        put(prefix)
        if following < MOST:
            known[prefix << 8 | pixel] = following
            size += following == 1 << size
            following += 1
        else:
            put(CLEAR)
            known.clear()
            size, following = 9, FIRST
        prefix = pixel
    put(prefix)
    put(END)
    if bits:
        out.append(waiting & 255)
    return bytes(out)
