# What docs/extending.md shows, section by section: for the jobs of test/campaign/.
#
#   ```LANGUAGE FILE                the whole of a new file
#   ```LANGUAGE FILE behind TEXT    lines behind the first line of the file that holds the text
#   ```console                      commands, and below each the lines that it prints, as in test/text/; `$ cat FILE`, where the
#                                   page shows the file for the first time, gives the file its contents

# page_blocks PAGE SECTION DIR: writes the blocks of the section's changes to DIR/1, DIR/2, ..., each with its file in DIR/N.file
# and the text in DIR/N.behind, and the commands as a text test to DIR/commands.t.
page_blocks() {
  mkdir -p "$3" && awk -v section="$2" -v dir="$3" '
    function quoted(line) { return line == "" || line ~ /^(#|==|<<<|@|\\)/ ? "\\" line : line }
    function end_file() { if (file) print ">>>" > t; file = "" }
    BEGIN { t = dir "/commands.t"; print "# " section > t }
    /^## / { on = substr($0, 4) == section; next }
    !on { next }
    /^```/ && (console || out) { if (console) end_file(); if (out) close(out); console = 0; out = ""; next }
    /^```console$/ { console = 1; if (!begun++) print "== " section > t; next }
    /^```/ && NF >= 2 {
      out = dir "/" ++count
      print $2 > (out ".file")
      text = $0
      if (!sub(/^.* behind /, "", text)) text = ""
      printf "%s", text > (out ".behind")
      printf "" > out
      next
    }
    out { print > out; next }
    !console { next }
    /^\$ cat [^ ]+$/ && !known[$3]++ { end_file(); file = $3; print "<<< " file > t; next }
    /^\$ / { end_file(); print > t; next }
    { print file || /^[!?] / ? $0 : quoted($0) > t }
    END { exit count == 0 }' "$1"
}

# page_apply DIR: makes the changes in the tree in which it is called, and prints the files.
page_apply() {
  for block in $(cd "$1" && ls | grep -x '[0-9]*' | sort -n); do
    block=$1/$block
    file=$(cat "$block.file")
    text=$(cat "$block.behind")
    mkdir -p "$(dirname "$file")"
    if [ -z "$text" ]; then
      [ ! -e "$file" ] || { echo "$file exists" >&2; return 1; }
      cp "$block" "$file"
    else
      at=$(grep -nF -m1 -e "$text" "$file" | cut -d: -f1)
      [ -n "$at" ] || { echo "no line of $file holds: $text" >&2; return 1; }
      sed -i "${at}r $block" "$file"
    fi
    echo "$file"
  done
}
