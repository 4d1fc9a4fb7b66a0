# What pages show is what is printed. A section of a page is a case.
#
#   ```console          commands, and below each the lines that it prints, with `[..]` and `[...]` as in every text test.
#                       `$ cat FILE`, where the page shows the file for the first time, gives the file its contents
#   ```console setup    commands that print nothing; carried out once, before the sections
#   ```c FILE           the contents of FILE
#
# A section begins in a copy of the folder that holds the page's files, what the setup made, and docs/. `cc` and `pkg-config`
# find the library that is tested, as if it were installed.
<<< page.awk
function quoted(line) { return line == "" || line ~ /^(#|==|<<<|@|\\)/ ? "\\" line : line }
/^[ \t]+```|^```console ./ && $0 != "```console setup" { print "a block that nothing runs: " $0 > "/dev/stderr"; exit 1 }
/^```/ && block { block = file = ""; next }
/^```/ { block = $0; file = /^```c ./ ? "page/" $2 : ""; next }
!block && /^##/ { title = $0; sub(/^#+ */, "", title) }
block == "```console setup" { sub(/^[$>] /, ""); print > "setup.sh"; next }
file && (block != "```console" || !/^\$ /) { print > file; next }
block != "```console" { next }
/^\$ / {
  file = ""
  if ($2 == "cat" && NF == 3 && !($3 in known)) {
    known[$3] = 1
    file = "page/" $3
    next
  }
  if (title != begun) { print "== " title "\n$ cp -RP \"$PAGE\"/. ."; begun = title }
  print "$ exec 2>&1\n> " substr($0, 3)
  next
}
{ print quoted($0) }
>>>
<<< check.sh
built=$(dirname "$(command -v viewfold)") name=$(basename "$1" .md)
case $built in
*san-address) flags=-fsanitize=address,undefined ;;
*san-*) flags=-fsanitize=${built##*san-} ;;
esac
mkdir page tools
ln -s "$TEST_ROOT/docs" page/docs
printf '#!/bin/sh\nPATH="%s" exec %s -std=c99 -Wall -Wextra -pedantic -Werror %s "$@"\n' "$PATH" "${CC:-cc}" "${flags:-}" > tools/cc
chmod +x tools/cc
sed "s|@LIBDIR@|$built|; s|@INCLUDEDIR@|$TEST_ROOT/frontend|" "$TEST_ROOT/viewfold.pc.in" > tools/viewfold.pc
export PATH="$PWD/tools:$PATH" PKG_CONFIG_PATH="$PWD/tools" LD_LIBRARY_PATH="$built" PAGE="$PWD/page"
awk -f page.awk "$TEST_ROOT/$1" > "$name.t" || exit 1
grep -q '^\$ exec' "$name.t" || { echo "$1 shows no commands"; exit 1; }
[ ! -e setup.sh ] || (cd page && sh -e ../setup.sh) || exit 1
"$TEST_ROOT/build/run_text" --bin "$built" "$name.t" > said 2>&1 || { cat said; exit 1; }
>>>
<<< names.sh
viewfold ops --json | sed -E 's/^\{"operation":"([^"]*)"(,"also":"([^"]*)")?.*/\1 \3/' | tr -s ' ' '\n' | sort -u > operations
grep -ohE 'vf_[a-z0-9_]+' "$TEST_ROOT"/frontend/viewfold*.h | sort -u > functions
sed 's/\\|//g' "$TEST_ROOT/$1" | awk -F'|' '$3 == " operation " { on = 1; next } NF < 4 { on = 0 } on { print $3 > "rows" }'
[ "$(wc -l < rows)" -ge 40 ] || echo "$1: a table of $(wc -l < rows) operations"
grep -oE '`[a-z0-9_]+`' rows | tr -d '`' | sort -u | comm -23 - operations | sed 's/^/there is no operation /'
grep -oE 'vf_[a-z0-9_]+' "$TEST_ROOT/$1" | sort -u | comm -23 - functions | sed 's/^/there is no function /'
>>>

== README.md
$ sh check.sh README.md

== docs/ahead.md
$ sh check.sh docs/ahead.md

== docs/architecture.md
$ sh check.sh docs/architecture.md

== docs/coming-from.md
$ sh check.sh docs/coming-from.md

== docs/debugging.md
$ sh check.sh docs/debugging.md

== docs/numbers.md
$ sh check.sh docs/numbers.md

== docs/sharding.md
$ sh check.sh docs/sharding.md

== docs/tutorial.md
$ sh check.sh docs/tutorial.md

== docs/writes.md
$ sh check.sh docs/writes.md

== docs/tutorial.md names what exists
$ sh names.sh docs/tutorial.md
