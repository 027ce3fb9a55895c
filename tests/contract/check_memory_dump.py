"""A device's dump is as its schema says, and its figures agree with its ranges: check_memory_dump.py PROGRAM SCHEMA.

Exit 77 where the program has no device, and without python3-jsonschema, when only the figures could be looked at.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

SKIPPED = 77


def total(ranges, key, *states):
    return sum(span[key] for span in ranges if span["state"] in states)


def faults_of_pool(pool):
    ranges = [span for block in pool["blocks"] for span in block["ranges"]]
    holes = [span["bytes"] for span in ranges if span["state"] == "hole"]
    for block in pool["blocks"]:
        end = 0
        for span in block["ranges"]:
            if span["offset"] != end or span["offset"] % pool["granularity"]:
                yield "a range of block %d begins at %d, not at %d" % (block["number"], span["offset"], end)
            end = span["offset"] + span["bytes"]
        if end != block["bytes"]:
            yield "the ranges of block %d end at %d of %d" % (block["number"], end, block["bytes"])
        if block["dedicated"] != (len(block["ranges"]) == 1 and block["ranges"][0]["bytes"] == block["bytes"]):
            yield "block %d is dedicated, or it is not" % block["number"]
    expected = {
        "live_bytes": total(ranges, "requested", "live"),
        "given_bytes": total(ranges, "bytes", "live"),
        "cached_bytes": total(ranges, "bytes", "kept", "pending"),
        "pending_bytes": total(ranges, "bytes", "pending"),
        "free_bytes": sum(holes),
        "largest_free": max(holes, default=0),
        "reserved_bytes": sum(block["bytes"] for block in pool["blocks"]),
        "live_buffers": sum(span["state"] == "live" for span in ranges),
    }
    for name, value in expected.items():
        if pool[name] != value:
            yield "%s of pool '%s' is %d, but the ranges say %d" % (name, pool["name"], pool[name], value)


def faults_of_figures(dump):
    for pool in dump["pools"]:
        yield from faults_of_pool(pool)
    scene = next((pool for pool in dump["pools"] if pool["name"] == 'scene "1"'), None)
    if scene is None:
        yield "the pool is not there by its name"
        return
    ranges = [span for block in scene["blocks"] for span in block["ranges"]]
    if {span["state"] for span in ranges} < {"live", "kept", "hole"}:
        yield "a state is missing: %s" % {span["state"] for span in ranges}
    if {span.get("name") for span in ranges} - {None} != {"odd \ufffd one", "gr\u00fcn\n", "large"}:
        yield "the names are %s" % {span.get("name") for span in ranges}
    if not any("memory_dump.c:" in span.get("site", "") for span in ranges):
        yield "no range says where it was created"
    if not any(block["dedicated"] for block in scene["blocks"]):
        yield "no block is dedicated"
    own = {buffer["name"]: buffer for buffer in dump["buffers"]}
    if own["own"]["bytes"] != 3000 or own["own"]["kind"] != "device" or own["host"]["kind"] != "wrapped":
        yield "the buffers with memory of their own are %s" % dump["buffers"]
    held = sum(buffer["bytes"] for buffer in dump["buffers"]) + sum(pool["live_bytes"] for pool in dump["pools"])
    if held != sum(kind["live_bytes"] for kind in dump["kinds"]):
        yield "the kinds and the buffers differ"


def damaged(dump):
    """The dump with one thing wrong, each in turn."""
    for name in dump:
        yield {key: value for key, value in dump.items() if key != name}
        yield dict(dump, **{name: None})
    yield dict(dump, more=1)
    pool = next(pool for pool in dump["pools"] if pool["name"])
    for name in pool:
        yield dict(dump, pools=[{key: value for key, value in pool.items() if key != name}])
    for change in ({"state": "hole"}, {"state": "lost"}, {"offset": -1}, {"bytes": "1"}, {"more": 1}):
        wrong = copy.deepcopy(pool)
        live = next(span for block in wrong["blocks"] for span in block["ranges"] if span["state"] == "live")
        live.update(change)
        yield dict(dump, pools=[wrong])


def main(program, schema_file):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dump.json")
        status = subprocess.run([program, path], check=False).returncode
        if status:
            return status
        with open(path, encoding="utf-8") as file:
            dump = json.load(file)
    faults = list(faults_of_figures(dump))
    if faults:
        print("\n".join(faults))
        return 1
    if jsonschema is None:
        print("skipped: the figures are right, but there is no python3-jsonschema for the rest")
        return SKIPPED
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(dump)
    passed = [wrong for wrong in damaged(dump) if validator.is_valid(wrong)]
    for wrong in passed:
        print("the schema lets this pass: %.300s" % json.dumps(wrong))
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
