#!/usr/bin/env python3
"""Which tests show which row of the specification.

spec_rows.list says what each row demands; tests name rows in comments, `spec: V16 V16.grad`. A row without a
test is a failure unless it is pending, and so is a name that no row has. The page that results is written to
DIR/conformance.md.

  spec_rows.py --build DIR

Where a tag is counts: in a text test the case that it stands in, or before it the whole file; in C the
function that it stands in or right before; in Python the file.
"""
import collections
import os
import re
import sys

from arguments import arguments

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
TAG = re.compile(r"\bspec:((?:[ ,]+[A-Z]+\d+(?:\.\w+)?)+)")
TITLES = {"V": "Views", "B": "Batch axes", "F": "Functions", "AD": "Derivatives", "H": "Keys and caches",
          "I": "Views by descriptors, and writes", "D": "Views of data by named axes",
          "M": "Meshes and specs", "E": "Programs on meshes", "P": "Propagation of specs", "PS": "Pending sums",
          "R": "Rules of sharding", "C": "Moving between specs",
          "K": "Costs and automatic choice", "W": "What others lack"}


def rows():
    found = {}
    with open(os.path.join(HERE, "spec_rows.list"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            words = line.split(None, 2)
            if len(words) != 3 or words[1] not in ("-", "pending") or words[0] in found:
                sys.exit(f"spec_rows.list:{number}: expected a new ID, `-` or `pending`, and words")
            found[words[0]] = (words[1], words[2].strip())
    return found


def place(lines, number, kind):
    """The test or function that a tag on this line belongs to."""
    if kind == "t":
        for k in range(number, -1, -1):
            if lines[k].startswith("== "):
                return lines[k][3:].strip()
    if kind == "c":
        def function(line):
            named = re.match(r"(?:static )?(?:void|bool|int) (\w+)\(", line)
            return named and named.group(1)
        if lines[number].startswith(("/*", " *", "//")):  # before a function
            for line in lines[number:number + 12]:
                if function(line):
                    return function(line)
        for k in range(number, -1, -1):
            if function(lines[k]):
                return function(lines[k])
    return None


def tags():
    """ID -> [(file, test)]"""
    found = collections.defaultdict(list)
    for folder, _, files in sorted(os.walk(TEST)):
        for name in sorted(files):
            path = os.path.join(folder, name)
            kind = name.rpartition(".")[2]
            if kind not in ("t", "c", "py") or path == os.path.abspath(__file__):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().split("\n")
            for number, line in enumerate(lines):
                for match in TAG.finditer(line):
                    where = (os.path.relpath(path, os.path.dirname(TEST)), place(lines, number, kind))
                    for row in re.split("[ ,]+", match.group(1).strip()):
                        if where not in found[row]:
                            found[row].append(where)
    return found


def page(demands, shown):
    lines = ["# Conformance", "",
             "What each row of the specification demands, and the tests that show it. Written by",
             "`test/conform/spec_rows.py`.", ""]
    table = None
    for row, (state, words) in demands.items():
        if re.match("[A-Z]+", row).group() != table:
            table = re.match("[A-Z]+", row).group()
            lines += [f"## {TITLES[table]}", "", "| row | demand | tests |", "| --- | --- | --- |"]
        tests = "; ".join(f"`{file}`" + (f" “{test}”" if test else "")
                          for file, test in shown.get(row, []))
        lines.append(f"| {row} | {words} | {tests or state} |")
        following = list(demands)[list(demands).index(row) + 1:][:1]
        if not following or re.match("[A-Z]+", following[0]).group() != table:
            lines.append("")
    return "\n".join(lines)


def main():
    options = arguments(others=True)
    demands, shown = rows(), tags()
    failed = 0
    for row in sorted(shown.keys() - demands.keys()):
        print(f"{row}: named by {shown[row][0][0]}, but no row of spec_rows.list")
        failed += 1
    missing = [r for r, (state, _) in demands.items() if r not in shown]
    for row in missing:
        if demands[row][0] == "-":
            print(f"{row}: no test shows that {demands[row][1]}")
            failed += 1
    pending = [r for r, (state, _) in demands.items() if state == "pending"]
    early = [r for r in pending if r in shown]
    print(f"pending: {' '.join(r for r in pending if r not in shown)}")
    if early:
        print(f"pending, yet shown by a test: {' '.join(early)}")
    with open(os.path.join(options.build, "conformance.md"), "w", encoding="utf-8") as file:
        file.write(page(demands, shown))
    count = len([row for row in demands if row in shown])
    print(f"spec_rows: {count} passed, {failed} failed, {len(pending)} pending")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
