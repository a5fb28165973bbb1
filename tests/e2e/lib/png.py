"""PNG files, made and read with what Python brings: enough for tests that look at pixels."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, RGBA = 0, 2, 6
CHANNELS = {GREY: 1, RGB: 3, RGBA: 4}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width, height, colour=RGB):
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))


def encode(width, height, pixel, colour=RGB):
    """`pixel(x, y)` gives a tuple of bytes, as many as the colour type has channels."""
    rows = (b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    return header(width, height, colour) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


def decode(data):
    """Of a file of 8 bits a channel, not interlaced: width, height and rows of pixel tuples."""
    assert data.startswith(SIGNATURE)
    at, packed = len(SIGNATURE), b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(kind + body),)
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, interlaced) == (8, 0)
        if kind == b"IDAT":
            packed += body
        at += size + 12
    step = CHANNELS[colour]
    raw, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for start in range(0, len(raw), width * step + 1):
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * step], above, step)
        rows.append([tuple(above[x : x + step]) for x in range(0, len(above), step)])
    assert len(rows) == height
    return width, height, rows


def _unfiltered(kind, line, above, step):
    done = bytearray()
    for i, byte in enumerate(line):
        left, corner = (done[i - step], above[i - step]) if i >= step else (0, 0)
        guess = (0, left, above[i], (left + above[i]) // 2, _paeth(left, above[i], corner))[kind]
        done.append((byte + guess) & 0xFF)
    return bytes(done)


def _paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda near: abs(guess - near))
