#!/bin/sh
# The style rules that a machine can check. One line per check: `ok NAME`, `FAIL NAME` with the offending
# places below it, or `skip NAME: reason`.
#
#   test/style.sh [BUILD_DIR]        all checks, on the sources and on the plain build in BUILD_DIR (default: build)
#   test/style.sh --abi [BUILD_DIR]  write test/abi.txt and test/abi_types.txt from the library as it is now
#   test/style.sh --graph            draw the graph of folders in docs/architecture.md as it is now
#   test/style.sh --derived          write what follows from ir/ops.def: the declarations of frontend/viewfold_operations.h,
#                                    and the macros of frontend/viewfold_places.h;
#                                    then build, and write test/abi*.txt and the table of docs/operations.md
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
write_abi='' write_graph='' write_derived=''
case ${1:-} in
--abi) write_abi=1; shift ;;
--graph) write_graph=1; shift ;;
--derived) write_derived=1; shift ;;
esac
build=${1:-build}
so=$build/libviewfold.so.${SOVERSION:-0}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# check NAME: the lines on standard input are the offending places; no lines pass.
check() {
  cat >"$work/found"
  if [ -s "$work/found" ]; then
    echo "FAIL $1"
    sed 's/^/  /' "$work/found"
    failures=$((failures + 1))
  else
    echo "ok $1"
  fi
}
skip() { echo "skip $1: $2"; }

sources() { # NAME-PATTERN...: every file of ours in the rooms, the tests and the documentation
  for pattern in "$@"; do
    find ir passes codegen runtime frontend test docs -type f -name "$pattern" 2>/dev/null
  done | sort
}
exported() { nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }

# Without abidw the types stay as they are.
write_abi() {
  exported >test/abi.txt
  echo "test/abi.txt: $(wc -l <test/abi.txt) symbols"
  python3 test/abi_types.py "$so" >"$work/types" && cat "$work/types" >test/abi_types.txt &&
    echo "test/abi_types.txt: $(wc -l <test/abi_types.txt) lines"
}
if [ -n "$write_abi" ]; then
  write_abi
  exit 0
fi

# -------------------------------------------------------------------------------------------------- what follows from ops.def
awk -f test/declarations.awk ir/ops.def >"$work/declarations"
declared=frontend/viewfold_operations.h
awk -v rows="$work/declarations" '
  /^\/\* end of these rows/ { inside = 0 }
  !inside { print }
  /^\/\* from the rows of ir\/ops.def/ { inside = 1; while ((getline line < rows) > 0) print line }' $declared >"$work/declared"
placed=frontend/viewfold_places.h
awk -f test/places.awk frontend/viewfold.h frontend/viewfold_operations.h frontend/viewfold_model.h frontend/viewfold_inspect.h \
  frontend/viewfold_mesh.h frontend/viewfold_buffers.h >"$work/places"
awk -v rows="$work/places" '
  /^\/\* end of these rows/ { inside = 0 }
  !inside { print }
  /^\/\* from the declarations/ { inside = 1; while ((getline line < rows) > 0) print line }' $placed >"$work/placed"
if [ -n "$write_derived" ]; then
  cat "$work/declared" >$declared
  cat "$work/placed" >$placed
  echo "$declared: $(grep -c VF_API "$work/declarations") functions of the table"
  "${MAKE:-make}" -s all || exit
  "$build/viewfold" ops | sed '/^$/,$d' >"$work/table"
  awk -v table="$work/table" '
    /^[|] operation [|] also/ { inside = 1; while ((getline line < table) > 0) print line }
    !/^[|]/ { inside = 0 }
    !inside { print }' docs/operations.md >"$work/operations.md"
  cat "$work/operations.md" >docs/operations.md
  echo "docs/operations.md: $(grep -c '' "$work/table") lines of the table"
  write_abi
  exit 0
fi
{ grep -q '^/[*] from the rows of ir/ops.def' $declared || echo "< the line of $declared behind which they stand"
  diff $declared "$work/declared"; } | sed -n 's/^</gone:/p; s/^>/new:/p' |
  check "$declared has the functions of ir/ops.def (update: test/style.sh --derived)"

diff $placed "$work/placed" | sed -n 's/^</gone:/p; s/^>/new:/p' |
  check "$placed has the builders of the headers (update: test/style.sh --derived)"

# ------------------------------------------------------------------------------------------------------------ includes
# Which room may include which. `tests` and `docs` may include everything.
cat >"$work/edges" <<'E2'
ir        ir
passes    ir passes
codegen   ir codegen
runtime   ir codegen runtime
frontend  ir passes codegen runtime frontend
E2
# Which foreign headers a room may see: `ROOM FILE-PATTERN HEADER-PATTERN`. Everywhere: the C library.
cat >"$work/foreign" <<'E2'
codegen   ^codegen/llvm     ^(llvm-c/|llvm/Config/llvm-config[.]h$)
runtime   .                 ^(xxhash\.h|CL/.*|ffi\.h|hwloc\.h|mpi\.h)$
frontend  ^frontend/cli     ^jansson\.h$
frontend  ^frontend/python  ^(Python|pyconfig|structmember)\.h$
frontend  .                 ^xxhash\.h$
frontend  ^frontend/files   ^zlib\.h$
ir        ^ir/eval/exchange ^pthread\.h$
E2
# What counts as C library: the standard headers for ir/, passes/ and codegen/, POSIX and Linux as well elsewhere.
standard='assert|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|time|uchar|wchar'
posix='cpuid|dirent|dlfcn|elf|fcntl|getopt|immintrin|libgen|link|poll|pthread|sched|signal|spawn|strings|unistd|sys/[a-z]+|linux/[a-z_]+'

sources '*.c' '*.h' '*.def' | xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null >"$work/includes"
awk -v edges="$work/edges" -v foreign="$work/foreign" -v standard="^($standard)\\.h$" -v posix="^($posix)\\.h$" '
  function exists(path,    line, yes) { yes = (getline line < path) >= 0; close(path); return yes }
  function normal(path) { while (sub(/[^\/.]+\/\.\.\//, "", path)) {} sub(/^\.\//, "", path); return path }
  BEGIN {
    while ((getline row < edges) > 0) { n = split(row, f, " "); known[f[1]] = 1; for (i = 2; i <= n; i++) may[f[1], f[i]] = 1 }
    while ((getline row < foreign) > 0) { split(row, f, " "); k++; room_of[k] = f[1]; file_like[k] = f[2]; header_like[k] = f[3] }
  }
  {
    split($0, part, ":"); file = part[1]; line = part[2]
    room = file; sub(/\/.*/, "", room)
    if (!(room in known)) next
    text = substr($0, length(file) + length(line) + 3)
    place = file ":" line ": "
    if (match(text, /<[^>]*>/)) {
      header = substr(text, RSTART + 1, RLENGTH - 2)
      if (header ~ standard) next
      if ((room == "runtime" || room == "frontend") && header ~ posix) next
      for (i = 1; i <= k; i++) if (room_of[i] == room && file ~ file_like[i] && header ~ header_like[i]) next
      print place room "/ may not include <" header ">"
    } else if (match(text, /"[^"]*"/)) {
      header = substr(text, RSTART + 1, RLENGTH - 2)
      beside = file; sub(/[^\/]*$/, "", beside); beside = normal(beside header)
      if (exists(header)) target = header
      else if (exists(beside)) target = beside
      else target = room "/" header             # generated from files of the room
      sub(/\/.*/, "", target)
      if (!((room, target) in may)) print place room "/ may not include " target "/ (" header ")"
    }
  }' "$work/includes" | check "include direction between the rooms"

# ------------------------------------------------------------------------------------------------------------- folders
rooms='ir passes codegen runtime frontend'
# shellcheck disable=SC2086  # a list of words
folders=$(find $rooms -type f ! -name '*.py' ! -name 'py.typed' ! -name '*.pyi' | sed 's|/[^/]*$||' | sort -u)

# Folders include one another in one direction. A folder with folders of its own counts as two: its headers (FOLDER),
# which its folders may include, and its other files (FOLDER/*.c), which may include those of its folders. A line for
# each pair, `FROM TO`.
awk -v folders="$folders" '
  function exists(path,    line, yes) { yes = (getline line < path) >= 0; close(path); return yes }
  function normal(path) { while (sub(/[^\/.]+\/\.\.\//, "", path)) {} sub(/^\.\//, "", path); return path }
  function node(file,    folder) {
    folder = file
    sub(/\/[^\/]*$/, "", folder)
    return folder in parent && file !~ /\.(h|def)$/ ? folder "/*.c" : folder
  }
  BEGIN {
    n = split(folders, f, "\n")
    for (i = 1; i <= n; i++) {
      known[f[i]] = 1
      for (above = f[i]; sub(/\/[^\/]*$/, "", above);) parent[above] = 1
    }
  }
  match($0, /"[^"]*"/) {
    header = substr($0, RSTART + 1, RLENGTH - 2)
    file = $0
    sub(/:.*/, "", file)
    beside = file
    sub(/[^\/]*$/, "", beside)
    beside = normal(beside header)
    target = exists(header) ? header : beside
    folder = file
    sub(/\/[^\/]*$/, "", folder)
    into = target
    sub(/\/[^\/]*$/, "", into)
    if (folder in known && into in known && node(file) != node(target)) print node(file), node(target)
  }' "$work/includes" | sort -u >"$work/folders"
tsort "$work/folders" 2>"$work/cycles" >/dev/null

# The map of docs/architecture.md: the folders, and this graph.
sh test/folder_map.sh "$rooms" "$work/folders" >"$work/map"
page=docs/architecture.md
awk -v map="$work/map" '
  /^<!-- end of folders -->/ { inside = 0 }
  !inside { print }
  /^<!-- folders: / { inside = 1; while ((getline line < map) > 0) print line }' $page >"$work/page"
if [ -n "$write_graph" ]; then
  cat "$work/page" >$page
  echo "$page: $(grep -c '^| `' "$work/map") folders"
  exit 0
fi

sed 's|^tsort: ||; s|^[^ ]*/folders: ||' "$work/cycles" | check "folders include one another in one direction"
awk '{ if ($1 != from) { if (from) print line; from = $1; line = "  " from " ->" } line = line " " $2 }
  END { if (from) print line }' "$work/folders"
diff $page "$work/page" | sed -n 's/^</gone:/p; s/^>/new:/p' |
  check "$page shows the folders and that graph (update: test/style.sh --graph)"

# The kind of machine is asked once, and the pipeline hands on the table of what follows from it.
{ grep -rnE 'group_items|pass_on_(cpu|gpu)' passes | grep -vE '^passes/(strategy[.][ch]|loops/[cg]pu/[^:]*):'
  grep -rnE 'strategy->steps' passes | grep -v '^passes/pipeline[./]'; } |
  check "the strategies alone ask for the kind of machine (passes/strategy.h)"
twice=$(sed -n 's/^CHECKED := .*,\(.*\))$/\1/p' Makefile)
grep -lrw IR_CHECK ir passes codegen runtime frontend --include='*.[ch]' | grep -vxF "$(echo "$twice" | tr ' ' '\n')" |
  check "only what the Makefile compiles with and without the verifier asks for it (CHECKED)"

# The head of a folder is the file that begins by saying what comes in, what goes out and what holds. frontend/ itself has
# the public headers alone, which speak to users.
for folder in $folders; do
  [ "$folder" != frontend ] || continue
  heads=$(grep -lE "^/\* The folder $folder[.]" "$folder"/*.* 2>/dev/null | wc -l)
  [ "$heads" = 1 ] || echo "$folder: $heads files begin with \`/* The folder $folder.\`"
done | check "each folder has one head"
for folder in $folders; do
  find "$folder" -maxdepth 1 -type f -name '*.[ch]' | wc -l | awk -v f="$folder" '$1 > 40 { print f ": " $1 }'
done | check "no folder has more than 40 files of C"

# --------------------------------------------------------------------------------------------------------- the library
awk '/^typedef enum/ { open = 1 }
  open && /^ *VF_[A-Z0-9_]+ *(,|$|\/)/ { print FILENAME ": " $1 }
  /^}/ { open = 0 }' frontend/viewfold*.h | check "each constant of an enumeration in a public header has its number"
if [ -e "$so" ]; then
  exported | grep -v '^vf_' | check "every exported symbol begins with vf_"
  if [ -e test/abi.txt ]; then
    exported | diff test/abi.txt - | sed -n 's/^< /gone: /p; s/^> /new: /p' |
      check "exported symbols are those of test/abi.txt (update: test/style.sh --abi)"
  else
    skip "exported symbols are those of test/abi.txt" "there is no such file yet"
  fi
  types="types and signatures are those of test/abi_types.txt (update: test/style.sh --abi)"
  python3 test/abi_types.py "$so" >"$work/types" 2>"$work/why"
  case $? in
  77) skip "$types" "$(cat "$work/why")" ;;
  *) { cat "$work/why"; diff test/abi_types.txt "$work/types" | sed -n 's/^< /gone: /p; s/^> /new: /p'; } | check "$types" ;;
  esac
else
  skip "every exported symbol begins with vf_" "$so is not built"
  skip "exported symbols are those of test/abi.txt" "$so is not built"
fi
# One soname, one promise (docs/versions.md): what the last release has stays as long as the name of the library does.
release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null)
soname() { sed -n 's/^SOVERSION := //p'; }
if [ -z "$release" ]; then
  skip "nothing that the last release promises is gone" "there is no release yet"
elif [ "$(git show "$release:Makefile" | soname)" = "$(soname <Makefile)" ]; then
  for file in abi.txt abi_types.txt; do
    git show "$release:test/$file" | sort | comm -23 - test/$file | sed "s/^/gone since $release: /"
  done | check "nothing that the last release promises is gone"
fi

# Objects of the library and of its compiler module, not of the command, the process that compiles and the module of Python.
objects=$(find "$build/obj/ir" "$build/obj/passes" "$build/obj/codegen" "$build/obj/runtime" "$build/obj/frontend" \
  "$build/obj/gen" -name '*.o' ! -path '*/frontend/cli/*' ! -path '*/frontend/python/*' ! -path '*/runtime/serve/*' 2>/dev/null |
  while read -r o; do
    c=${o#"$build/obj/"} c=${c%.o}.c
    if [ -e "$c" ] || [ -e "build/${c}" ]; then echo "$o"; fi
  done | sort)
forbidden='abort|exit|_exit|_Exit|quick_exit|raise|__assert_fail|__assert|assert|v?printf|puts|fprintf|vfprintf|putchar|perror|psignal|err|errx|warn|warnx|__v?f?printf_chk|stdout|stderr'
if [ -n "$objects" ]; then
  # shellcheck disable=SC2086  # a list of words
  nm -A -u $objects | awk -v folder="$build/obj/" -v bad="^($forbidden)\$" '
    $NF ~ bad { sub(/:.*/, "", $1); print substr($1, length(folder) + 1) ": " $NF }' |
    check "the library does not abort, exit, assert or print"
  # shellcheck disable=SC2086  # a list of words
  size -A $objects | awk -v folder="$build/obj/" '
    $2 == ":" { object = substr($1, length(folder) + 1) }
    object ~ /runtime\/system\/bus_error[.]o/ { next } # the handler of a signal is the process'"'"'s (runtime/system/bus_error.h)
    $2 > 0 && $1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ { print object ": " $2 " bytes of " $1 }' |
    check "the library has no writable global data"
else
  skip "the library does not abort, exit, assert or print" "no objects in $build/obj"
  skip "the library has no writable global data" "no objects in $build/obj"
fi

# -------------------------------------------------------------------------------------------------------------- header
header=frontend/viewfold.h
cc=${CC:-cc} cxx=${CXX:-g++}
compiles() { # NAME COMPILER STANDARD LANGUAGE
  if ! command -v "${2%% *}" >/dev/null; then skip "$1" "there is no $2"; return; fi
  $2 -std="$3" -x "$4" -Wall -Wextra -pedantic -Werror -fsyntax-only "$work/include.$4" 2>&1 | check "$1"
}
if [ -e $header ]; then
  printf '#include "%s/%s"\ntypedef int not_empty;\n' "$PWD" "$header" | tee "$work/include.c" >"$work/include.c++"
  compiles "viewfold.h is C99" "$cc" c99 c
  compiles "viewfold.h is C17" "$cc" c17 c
  compiles "viewfold.h is C++17" "$cxx" c++17 c++
else
  for standard in C99 C17 C++17; do skip "viewfold.h is $standard" "there is no $header yet"; done
fi

# --------------------------------------------------------------------------------------------------------------- text
sources '*.c' '*.h' '*.def' '*.rules' '*.sh' | xargs wc -l /dev/null |
  awk '$2 != "total" && $1 > ($2 ~ /^(test|docs)\// ? 1000 : 600) { print $2 ": " $1 " lines" }' |
  check "no file is longer than 600 lines, of tests 1000"
# The formatter has functions begin and end at the first column. A switch is a table: its labels are not counted.
# shellcheck disable=SC2086  # a list of words
find $rooms -name '*.[ch]' | sort | xargs awk '
  FNR == 1 { begin = 0 }
  /^[A-Za-z_].*[)] [{]$/ || (/^ +.*[)] [{]$/ && open) { begin = FNR; labels = 0; name = open ? open : $0 }
  { open = /^[A-Za-z_][^;{}=]*,$/ ? $0 : open && /^ [^;{}]*,$/ ? open : "" }
  begin && /^ *(case .*|default):( |$)/ { labels++ }
  /^}/ {
    if (begin && FNR - begin + 1 - labels > 80) print FILENAME ":" begin ": " FNR - begin + 1 - labels " lines: " name
    begin = 0
  }' | check "no function is longer than 80 lines"
# A named number of the compiler says its unit and its reason. The check is tried on a sample first, so that it does not
# pass because it sees nothing.
cat >"$work/sample.c" <<'E2'
enum { BARE = 4 };
enum { TWO = 2, THREE = 3 }; /* elements of a TWO */
enum { FIRST, SECOND };
enum kind { KIND = 1 };
enum {
  SHORT = 64, /* why */
  WIDTH = 64, /* bytes of the widest vector, of which
                 two are loaded */
  UNDER = 8,
  /* rows that fit in
   * a cache */
  ROWS = 16,
  FORMS = sizeof forms / sizeof *forms,
  NONE = UINT32_MAX
};
/* bytes of a line, LINE, and how far ahead is AHEAD */
enum { LINE = 64, AHEAD = 8 << 10 };
#define STEP 4
#define TIMES(x) (4 * (x))
static const double share = 1.5;
static const int64_t sizes[] = {1, 2}; /* candidates, powers of two */
static const char *const names[] = {"1", [2] = "2"};
E2
awk -f test/constants.awk "$work/sample.c" | sed 's|.*/||' | tr '\n' ' ' >"$work/bare"
expected='sample.c:1: BARE sample.c:2: THREE sample.c:6: SHORT sample.c:9: UNDER sample.c:14: NONE sample.c:18: STEP sample.c:20: share '
[ "$(cat "$work/bare")" = "$expected" ] || echo "found $(cat "$work/bare")in the sample, not $expected" >"$work/unseen"
{
  cat "$work/unseen" 2>/dev/null
  find passes codegen -name '*.[ch]' | sort | xargs awk -f test/constants.awk
} | check "each numeric constant of passes/ and codegen/ has a reason beside it (test/constants.awk)"
# What a header declares says its contract; tried on a sample likewise.
cat >"$work/sample.h" <<'E2'
/* one */
int covered(int a);
int also(int a,
         int b);

int bare(void);
int behind(void); /* says */
int several(int a,
            int b); /* says */
int after_several(void);

static inline int body(int a) {
  int b = a; /* no contract */

  return b;
}
int beyond(int a);
/* two
 * lines */
int last(int a);
extern "C" {
/* file.c */
API int titled(void);
int ruled(void); /* says */
/* ------------ ruled */
int under_rule(void);
}
E2
awk -f test/contracts.awk "$work/sample.h" | sed 's|.*/||' | tr '\n' ' ' >"$work/bare"
expected='sample.h:6: bare sample.h:10: after_several sample.h:12: body sample.h:17: beyond sample.h:23: titled sample.h:26: under_rule '
rm -f "$work/unseen"
[ "$(cat "$work/bare")" = "$expected" ] || echo "found $(cat "$work/bare")in the sample, not $expected" >"$work/unseen"
{
  cat "$work/unseen" 2>/dev/null
  # shellcheck disable=SC2086  # a list of words
  find $rooms -name '*.h' | sort | xargs awk -f test/contracts.awk
} | check "every function that a header declares has a contract (test/contracts.awk)"

sources '*.c' '*.h' '*.def' '*.rules' '*.sh' '*.md' '*.vf' '*.t' '*.1' | xargs grep -nwE 'TO''DO|FIX''ME|X''XX|HA''CK' /dev/null |
  check "nothing is left open in the sources"
if command -v python3 >/dev/null; then
  python3 test/messages.py | sed '$d' | check "every message is named by a test (test/messages.py, test/messages.list)"
  python3 test/manual.py | sed '$d' | check "every option and variable is in the manual (test/manual.py)"
else
  echo "skip every message is named by a test, every option is in the manual: there is no python3"
fi
# docs/extending.md makes some of the files that it names.
sed -nE 's/^```[a-z]+ ([^ ]+)$/\1/p' docs/extending.md >"$work/made"
{ sources '*.c' '*.h' '*.def' '*.rules' '*.sh' '*.py' '*.md' '*.vf' '*.t' '*.1'; ls Makefile README.md CONTRIBUTING.md CHANGELOG.md; } |
  xargs grep -noE "(^|[^[:alnum:]_./-])($(echo $rooms | tr ' ' '|'))/[[:alnum:]_/.-]+[.](c|h|def|rules)\\b" /dev/null |
  awk -F: -v made="$(tr '\n' ' ' <"$work/made")" '
    { file = $3; sub(/^[^[:alpha:]]/, "", file); name = file; sub(/.*\//, "", name) }
    $1 == "docs/moved.md" || ($1 == "docs/extending.md" && index(" " made, " " file " ")) { next }
    name !~ /NAME/ && (getline line < file) < 0 { print $1 ":" $2 ": there is no " file }
    { close(file) }' | check "files that comments and documents name exist"
# [text](target): a file, beside the document; and where the target has a #, a heading of it, as its words joined by hyphens.
{ sources '*.md'; ls README.md CONTRIBUTING.md CHANGELOG.md; } | while read -r page; do
  grep -noE '\]\([^)`]+\)' "$page" | sed -E 's/^([0-9]+):\]\((.*)\)$/\1 \2/' | while read -r line link; do
    file=${link%%#*} heading=
    case $link in http://* | https://*) continue ;; *'#'*) heading=${link#*'#'} ;; esac
    case $file in '') file=$page ;; *) file=$(dirname "$page")/$file ;; esac
    if [ ! -e "$file" ]; then echo "$page:$line: there is no $link"; continue; fi
    [ -z "$heading" ] || sed -nE 's/^#+ //p' "$file" | tr '[:upper:] ' '[:lower:]-' | sed 's/[^[:alnum:]_-]//g' |
      grep -qx -e "$heading" || echo "$page:$line: $file has no heading for #$heading"
  done
done | check "links between documents lead somewhere"
awk -F'`' '/^[|] `[^|]*` [|] `[^|]*` [|]$/ && NF == 5 { print FNR, $4 }' docs/moved.md | while read -r line file; do
  [ -e "$file" ] || echo "docs/moved.md:$line: there is no $file"
done | check "docs/moved.md says where files are"
sources '*.c' '*.h' '*.def' '*.rules' '*.sh' '*.md' '*.vf' '*.t' '*.1' | xargs grep -nE '[[:blank:]]+$' /dev/null |
  check "no line ends in blanks"

# The configuration is written for the formatters of Debian 12 (14) and LLVM 19; other versions break lines differently.
name="sources are formatted (clang-format -i)"
formatter=$(for f in clang-format-19 clang-format-14 clang-format; do command -v $f && break; done)
case $("${formatter:-false}" --version 2>/dev/null) in
*"version 14."* | *"version 19."*)
  sources '*.c' '*.h' | xargs "$formatter" --dry-run 2>&1 | grep 'warning: code should be' | cut -d: -f1 | sort | uniq -c |
    awk '{ print $2 ": " $1 " places" }' | check "$name" ;;
'') skip "$name" "there is no clang-format" ;;
*) skip "$name" "$formatter is neither version 14 nor 19" ;;
esac

[ $failures = 0 ]
