# What pages show is what is printed: the blocks of a page that begin with ```console. A section of a page is a case. Below a
# command stand the lines that it prints, with `[..]` and `[...]` as in every text test. `$ cat FILE`, where the page shows the
# file for the first time, gives the file its contents.
<<< page.awk
function quoted(line) { return line == "" || line ~ /^(#|==|<<<|@|\\)/ ? "\\" line : line }
/^```/ { shown = !shown && /^```console$/; if (filing) { files = files ">>>\n"; filing = 0 }; next }
!shown && /^##/ { title = $0; sub(/^#+ */, "", title) }
!shown { next }
/^\$ / {
  if (filing) { files = files ">>>\n"; filing = 0 }
  if ($2 == "cat" && NF == 3 && !($3 in known)) {
    known[$3] = filing = 1
    files = files "<<< " $3 "\n"
    next
  }
  if (title != begun) { cases = cases "\n== " title "\n"; begun = title }
  cases = cases $0 "\n"
  next
}
filing { files = files $0 "\n"; next }
{ cases = cases quoted($0) "\n" }
END { printf "%s%s", files, cases }
>>>
<<< check.sh
awk -f page.awk "$TEST_ROOT/docs/$1.md" > "$1.t"
grep -q '^\$ ' "$1.t" || { echo "docs/$1.md shows no commands"; exit 1; }
"$TEST_ROOT/build/run_text" --bin "$(dirname "$(command -v viewfold)")" "$1.t" > said 2>&1 || { cat said; exit 1; }
>>>

== docs/architecture.md
$ sh check.sh architecture

== docs/debugging.md
$ sh check.sh debugging
