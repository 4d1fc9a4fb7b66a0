"""Which options of the command, and which variables of the environment, the manual lacks.

    python3 test/manual.py

Reads the tables of options in frontend/cli/, one or more for each command, and docs/man/viewfold.1. Each option stands in the
manual's section of its command; each VIEWFOLD_ variable that the sources ask for is in the table of the environment. Exit status 1
where one is missing.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
OPTION = re.compile(r'\{\s*"(--?[a-z][a-z-]*)",|cli_read_switch\(help_text, "(--[a-z-]+)"')
VARIABLE = re.compile(r'"(VIEWFOLD_[A-Z_]+)"')


def sections(manual):
    """{command: its section}"""
    parts = re.split(r"^\.It Nm Cm (\w+)", manual, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def command_of(path):
    return path.stem if path.parent.name in ("cli", "json") else path.parent.name


def main():
    manual = (ROOT / "docs/man/viewfold.1").read_text()
    parts, wrong, seen = sections(manual), [], 0
    for path in sorted((ROOT / "frontend/cli").rglob("*.c")):
        text = path.read_text()
        for option in sorted({a or b for a, b in OPTION.findall(text)}):
            section = parts.get(command_of(path), "")
            seen += 1
            if not re.search(rf"\bFl {re.escape(option[1:])}(?![a-z-])", section):
                wrong.append(f"docs/man/viewfold.1: the section of {command_of(path)} lacks {option}")
    environment = manual[manual.find(".Sh ENVIRONMENT"):].split("\n.Sh ")[0:1] or [""]
    asked = {name for room in ("codegen", "frontend", "ir", "passes", "runtime")
             for path in (ROOT / room).rglob("*.[ch]") for name in VARIABLE.findall(path.read_text())}
    items = set(re.findall(r"^\.It Ev (VIEWFOLD_[A-Z_]+)", environment[0], flags=re.M))
    wrong += [f"docs/man/viewfold.1: the environment lacks {name}" for name in sorted(asked - items)]
    print("\n".join(wrong + [f"{seen} options and {len(asked)} variables, {len(wrong)} missing"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
