"""Which messages that a user can meet are named by no test.

    python3 test/messages.py

Reads the calls of functions that take a format (IR_PRINTF, or an attribute `format`) in the sources of the library and the
command, and the tests. A message is named where a test has one of the literal parts of its format, of at least PART
characters, or all of them where they are shorter. Left out are messages of short memory, which the tests of failing
allocations make, of broken invariants, and of the verifier. Exit status 1 where another one is named by no test and does not stand in
messages.list, or stands there and is named, or is no longer made.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
ROOMS = ("ir", "passes", "codegen", "runtime", "frontend")
TESTS = ("test/text", "test/unit", "test/property", "test/conform", "test/python", "test/lib", "test/opencl",
         "test/campaign", "docs")
KINDS = (".t", ".c", ".h", ".py", ".list", ".sh", ".md")
PART = 12  # characters; shorter ones stand in tests of something else
STRING = r'"(?:[^"\\]|\\.)*"'
CONVERSION = re.compile(r"%(?:%|[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z])")
DECLARED = r"\b(\w+)\s*\([^;{}#]*?\)\s*(?:[A-Z]+_PRINTF\s*\(|__attribute__\s*\(\(format\(printf,\s*)(\d+)"
NO_MESSAGES = {"ir_textf", "cli_progress_draw", "bench_peer_ask"}
BESIDES = {"cli_usage": 2}


def joined(text):
    """Adjacent literals of C as one."""
    numbers = re.sub(r'"\s*PRI[dux]64(\s*")?', lambda m: "d" if m[1] else 'd"', text)
    return re.sub(r'"\s*"', "", numbers)


def unescaped(literal):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), literal)


def arguments(text, at):
    """Of the call whose parenthesis opens before `at`."""
    depth, start, out = 1, at, []
    for m in re.compile(STRING + r"|'(?:[^'\\]|\\.)'|[(),\[\]{}]").finditer(text, at):
        token = m.group()
        depth += (token in "([{") - (token in ")]}")
        if depth == 0 or (depth == 1 and token == ","):
            out.append(text[start:m.start()])
            start = m.end()
        if depth == 0:
            break
    return out


def messages(sources):
    """(place, status or function, format) of each call with a literal format."""
    makers = dict(BESIDES)
    for text in sources.values():
        for m in re.finditer(DECLARED, text):
            makers[m.group(1)] = int(m.group(2))
    names = "|".join(sorted(set(makers) - NO_MESSAGES))
    for path, text in sources.items():
        for m in re.finditer(r"\b(" + names + r")\s*\(", text):
            given, number = arguments(text, m.end()), makers[m.group(1)] - 1
            if number >= len(given):
                continue
            status = next((a.strip() for a in given[:number] if "IR_ERR_" in a), m.group(1))
            if path.parts[0] == "codegen" and status == m.group(1):
                continue  # text of kernels
            line = text.count("\n", 0, m.start()) + 1
            for literal in re.findall(STRING, joined(given[number])):
                yield f"{path}:{line}", status, unescaped(literal[1:-1])


def is_named(text, tests):
    pieces = [p.strip() for p in CONVERSION.split(text) if p.strip()]
    long = [p for p in pieces if len(p) >= PART]
    return any(p in tests for p in long) if long else all(p in tests for p in pieces)


def read_sources():
    files = [p for room in ROOMS for p in sorted((ROOT / room).rglob("*.[ch]")) if p.parent != ROOT / "ir/verify"]
    without_comments = lambda text: re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return {p.relative_to(ROOT): without_comments(p.read_text()) for p in files}


def read_tests():
    out = []
    for p in (p for folder in TESTS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in KINDS):
        text = p.read_text(errors="replace")
        out.append(unescaped(joined(text)) if p.suffix in (".c", ".h") else text)
    return "\n".join(out)


def main():
    path = ROOT / "test/messages.list"
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    listed = {line.partition("\t")[0] for line in lines}
    tests, seen, wrong = read_tests(), set(), []
    for place, status, text in messages(read_sources()):
        key = text.replace("\n", "\\n")
        if "IR_ERR_MEMORY" in status or "IR_ERR_INTERNAL" in status or "out of memory" in text or key in seen:
            continue
        seen.add(key)
        named = is_named(text, tests)
        if named and key in listed:
            wrong.append(f"test/messages.list: a test names {key!r}")
        if not named and key not in listed:
            wrong.append(f"{place}: no test names {key!r}")
    wrong += [f"test/messages.list: nothing says {key!r}" for key in sorted(listed - seen)]
    print("\n".join(wrong + [f"{len(seen)} messages, {len(listed)} of them listed as not tested, {len(wrong)} wrong"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
