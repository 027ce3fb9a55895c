"""An offset allocator's dump is as its schema says: check_offsets_schema.py PROGRAM SCHEMA.

Exit 77 without python3-jsonschema, when only the figures could be looked at.
"""

import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None


def faults_of_figures(dump):
    end, pieces, holes = 0, [], []
    for span in dump["ranges"]:
        if span["offset"] != end:
            yield "the range at %d does not follow the one before it" % span["offset"]
        end = span["offset"] + span["bytes"]
        (pieces if "piece" in span else holes).append(span)
    free = sum(span["bytes"] for span in holes)
    expected = {
        "bytes": end,
        "live_bytes": end - free,
        "free_bytes": free,
        "requested_bytes": sum(span["requested"] for span in pieces),
        "live_pieces": len(pieces),
        "holes": len(holes),
        "largest_free": max(span["bytes"] for span in holes),
    }
    for name, value in expected.items():
        if dump[name] != value:
            yield "%s is %d, but the ranges say %d" % (name, dump[name], value)
    if abs(dump["fragmentation"] - (1 - dump["largest_free"] / free)) > 1e-6:
        yield "fragmentation is %f" % dump["fragmentation"]
    if not any("user" in span for span in pieces):
        yield "no range has a pointer"


def damaged(dump):
    """The dump with one thing wrong, each in turn."""
    for name in dump:
        wrong = copy.copy(dump)
        del wrong[name]
        yield wrong
        yield dict(dump, **{name: "text"})
    piece = next(span for span in dump["ranges"] if "user" in span)
    yield dict(dump, more=1)
    yield dict(dump, ranges=[dict(piece, more=1)])
    yield dict(dump, ranges=[dict(piece, user="no number")])
    for name in ("offset", "bytes", "piece", "requested"):
        yield dict(dump, ranges=[{key: value for key, value in piece.items() if key != name}])


def main(program, schema_file):
    dump = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    faults = list(faults_of_figures(dump))
    if faults:
        print("\n".join(faults))
        return 1
    if jsonschema is None:
        print("skipped: the figures are right, but there is no python3-jsonschema for the rest")
        return 77
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
