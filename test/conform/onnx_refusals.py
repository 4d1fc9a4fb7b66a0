"""The node tests of ONNX that the importer refuses, by operator and reason: onnx_refusals.list.

The file's first line names packages as for pip: the one whose tests they are (onnx==VERSION), and what its
operators are compared with. Then follow groups: a line
`OPERATOR: REASON`, and indented lines with the names of the tests.
"""
import collections
import os
import textwrap

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_refusals.list")
WIDTH = 128


def packages(path=PATH):
    """(name, version) of the packages, onnx first."""
    with open(path, encoding="utf-8") as file:
        return [tuple(word.split("==")) for word in file.readline().split()]


def load(path=PATH):
    """(operator, reason) of each name."""
    found, group = {}, None
    with open(path, encoding="utf-8") as file:
        next(file)
        for line in file:
            if line[0] == " ":
                found.update(dict.fromkeys(line.split(), group))
            elif line.strip():
                group = tuple(line.strip().split(": ", 1))
    return found


def save(refused, path=PATH):
    """refused: (operator, reason) of each name. The packages stay."""
    groups = collections.defaultdict(list)
    for name, group in refused.items():
        groups[group].append(name)
    first = " ".join("==".join(package) for package in packages(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(first + "\n")
        for (operator, reason), names in sorted(groups.items()):
            file.write(f"\n{operator}: {reason}\n")
            file.write(textwrap.fill(" ".join(sorted(names)), WIDTH, initial_indent="  ", subsequent_indent="  ",
                                     break_long_words=False, break_on_hyphens=False) + "\n")


def differences(refused, names, path=PATH):
    """What is refused otherwise than the file says, of the tests that were run, as lines."""
    expected, lines = load(path), []
    for name in sorted(names):
        was, now = expected.get(name), refused.get(name)
        if was == now:
            continue
        if now is None:
            lines.append(f"{name}: is listed as refused ({was[0]}: {was[1]}), and is not")
        elif was is None:
            lines.append(f"{name}: refused: {now[0]}: {now[1]}")
        else:
            lines.append(f"{name}: refused: {now[0]}: {now[1]}; listed: {was[0]}: {was[1]}")
    return lines
