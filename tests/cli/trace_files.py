"""Writes traces as src/memory/trace_format.h describes them, independently of the library."""

import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                      2870177450012600261)

MAGIC = b"strata\x01\n"
DEVICE, POOL, CREATE, FAIL, DESTROY, GROW, TRIM, WAIT_BEGIN, WAIT_END = range(1, 10)
REUSED, EXISTING, HAS_NAME = 0x10, 0x20, 0x80


def rotate(value, count):
    return (value << count | value >> (64 - count)) & MASK


def mix(accumulator, lane):
    return rotate((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """xxHash's XXH64 with seed 0."""
    at, total = 0, P5
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        for at in range(0, len(data) - 31, 32):
            lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
        at += 32
        total = sum(rotate(lane, count) for lane, count in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            total = ((total ^ mix(0, lane)) * P1 + P4) & MASK
    total = (total + len(data)) & MASK
    while len(data) - at >= 8:
        total = (rotate(total ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if len(data) - at >= 4:
        total = (rotate(total ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        total = rotate(total ^ byte * P5 & MASK, 11) * P1 & MASK
    total = (total ^ total >> 33) * P2 & MASK
    total = (total ^ total >> 29) * P3 & MASK
    return total ^ total >> 32


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & MASK)


def text(string):
    data = string.encode("utf-8")
    return varint(len(data)) + data


def head(version=1):
    return MAGIC + struct.pack("<II", version, 0)


def chunk(records, count, time_ns):
    body = struct.pack("<IIQ", len(records), count, time_ns) + records
    return struct.pack("<Q", xxh64(body)) + body


class Trace:
    """Events, one microsecond apart, in chunks of at most 1000."""

    def __init__(self, name="a device"):
        self.data, self.records, self.count, self.buffers = head(), b"", 0, 0
        self.time = 10 ** 15
        self.add(DEVICE, text(name) + text("a platform") + text("1.0") + varint(1 << 34) + varint(1 << 32) +
                 varint(0) + varint(0) + text("0.1.0"))

    def add(self, kind, body, thread=1):
        if self.count == 1000:
            self.end_chunk()
        self.time += 1000
        if self.count == 0:
            self.begin = self.time
        self.records += bytes([kind]) + varint(thread) + varint(1000 if self.count else 0) + body
        self.count += 1

    def end_chunk(self):
        if self.count:
            self.data += chunk(self.records, self.count, self.begin)
        self.records, self.count = b"", 0

    def pool(self, number, name="", kind=0):
        self.add(POOL, varint(number) + varint(kind) + varint(0) + text(name) + varint(256) + varint(0) * 5)

    def create(self, size, given=None, pool=0, name="", kind=0, flags=0, thread=1):
        given = size if given is None else given
        flags |= kind | (HAS_NAME if name else 0)
        self.add(CREATE, bytes([flags]) + varint(pool) + varint(size) + zigzag(given - size) +
                 (varint(0) + text(name) if name else b""), thread)
        self.buffers += 1
        return self.buffers - 1

    def fail(self, size, pool=0, status=2):
        self.add(FAIL, varint(0) + varint(pool) + varint(size) + varint(status))

    def destroy(self, number, thread=1):
        self.add(DESTROY, varint(self.buffers - number), thread)

    def grow(self, pool, block, size):
        self.add(GROW, varint(0) + varint(pool) + varint(block) + varint(size))

    def trim(self, pool, block, size):
        self.add(TRIM, varint(pool) + varint(block) + varint(size))

    def wait(self, pool, thread=1):
        self.add(WAIT_BEGIN, varint(pool), thread)
        self.add(WAIT_END, varint(pool), thread)

    def bytes(self):
        self.end_chunk()
        return self.data
