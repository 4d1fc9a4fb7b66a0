#!/bin/sh
# The map of folders in docs/architecture.md, on standard output: a table of what the heads of the folders say, and a picture
# of which folder includes from which, for Mermaid.
#
#   sh test/folder_map.sh ROOMS EDGES
#
# ROOMS: the folders at the top, a list of words. EDGES: a file of lines `FROM TO`, as test/style.sh makes them: FOLDER/*.c stands
# for the .c files of a folder that has folders.
set -u
rooms=$1 edges=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

printf '| folder | what | takes in | gives out |\n| --- | --- | --- | --- |\n'
# shellcheck disable=SC2086  # a list of words
for folder in $(find $rooms -type f | sed 's|/[^/]*$||' | sort -u); do
  head=$(grep -lE "^/\* The folder $folder[.]" "$folder"/*.* 2>/dev/null | head -n 1)
  awk -v folder="$folder" '
    /^\/\* The folder / { head = 1; sub(/^.*The folder [^ ]*[.] */, ""); title = $0; next }
    !head { exit }
    { sub(/^ \* ?/, ""); last = sub(/ *\*\/$/, "") || $0 == "" }
    $1 == "in" || $1 == "out" || $1 == "holds" { key = $1; sub(/^ *[a-z]+ */, "") }
    { sub(/^ +/, ""); gsub(/\|/, "\\|") }
    key { says[key] = says[key] (says[key] ? " " : "") $0 }
    !key && $0 != "" { title = title " " $0 }
    last && key { exit }
    END {
      sub(/[.] *$/, "", title)
      if (title) printf "| `%s/` | %s | %s | %s |\n", folder, title, says["in"], says["out"]
    }' "${head:-/dev/null}"
done
echo

# A box for each room, a line for each folder, and of the arrows those that do not follow from others: between folders of one
# room, and between rooms (`ROOM:`).
tsort "$edges" 2>/dev/null >"$work/order"
sort "$work/order" >"$work/names"
awk -v order="$work/order" -v names="$work/names" -v rooms="$rooms" '
  function room(folder) { sub(/[\/:].*/, "", folder); return folder }
  function id(folder) { gsub(/\/\*/, "_files", folder); gsub(/[\/.]/, "_", folder); return folder }
  function label(folder) { return folder in has_files ? folder "/*.h" : folder }
  function add(from, to) { if (from != to && !((from, to) in arrow)) { arrow[from, to] = 1; out[from] = out[from] " " to } }
  function follows(from, to,    i, n, next_ones) { # from other arrows
    n = split(out[from], next_ones, " ")
    for (i = 1; i <= n; i++) if (next_ones[i] != to && (next_ones[i], to) in path) return 1
    return 0
  }
  function arrows(from, to, of_rooms,    i, n, all, line) {
    n = split(to, all, " ")
    for (i = 1; i <= n; i++)
      if ((from, all[i]) in arrow && !follows(from, all[i]))
        line = line (line ? " & " : " --> ") (of_rooms ? room(all[i]) "_room" : id(all[i]))
    return line
  }
  { if (room($1) == room($2)) add($1, $2); else add(room($1) ":", room($2) ":") }
  END {
    while ((getline folder < order) > 0) at[++count] = folder
    while ((getline folder < names) > 0) sorted[++named] = folder
    n = split(rooms, list, " ")
    for (i = n; i; i--) { at[++count] = list[i] ":"; all_rooms = all_rooms " " list[i] ":" }
    for (i = 1; i <= named; i++) {
      folders = folders " " sorted[i]
      if (sub(/\/\*\.c$/, "", sorted[i])) has_files[sorted[i]] = 1
    }
    split(folders, sorted, " ")
    for (i = count; i; i--) { # those that include nothing come last
      m = split(out[at[i]], to, " ")
      for (j = 1; j <= m; j++) {
        path[at[i], to[j]] = 1
        for (k = count; k; k--) if ((to[j], at[k]) in path) path[at[i], at[k]] = 1
      }
    }
    print "```mermaid\nflowchart TB"
    for (r = n; r; r--) {
      print "  subgraph " list[r] "_room[" list[r] "]"
      for (i = 1; i <= named; i++)
        if (room(sorted[i]) == list[r])
          print "    " id(sorted[i]) "[\"" label(sorted[i]) "\"]" arrows(sorted[i], folders, 0)
      print "  end"
    }
    for (r = n; r; r--) { line = arrows(list[r] ":", all_rooms, 1); if (line) print "  " list[r] "_room" line }
    print "```"
  }' "$edges"
