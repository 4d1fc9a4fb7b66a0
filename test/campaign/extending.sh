#!/bin/sh
# Makes the changes of docs/extending.md in a copy of the tree, and runs its commands on what is built from it.
#
#   sh test/campaign/extending.sh BUILD LEVEL SEED
#
# LEVEL test: the rule and the pass, for which the objects of BUILD are linked with those of the changed sources
# alone; short and full: the whole page, for which the copy is built. SEED is not used. Status 0, 1 where the page
# does not do what it says, 77 where it cannot run.
. test/campaign/common.sh
. test/page.sh
page=docs/extending.md
needs "$build/run_text" "make build/run_text"
needs "$build/obj" make
from=$PWD
tree=$work/tree
mkdir "$tree"
git ls-files -z 2>/dev/null | tar -c --null -T - 2>/dev/null | tar -x -C "$tree" || skip "not a checkout"
build=$(cd "$build" && pwd)
failed=0
fail() { echo "FAIL $1"; tail -15 "$work/log" | sed 's/^/  /'; failed=1; }

# change SECTION MOST: makes the changes of a section, in at most so many files.
change() {
  section=$work/$(echo "$1" | tr ' ' _)
  page_blocks "$from/$page" "$1" "$section" && (cd "$tree" && page_apply "$section") >"$section.files" 2>"$work/log" ||
    { fail "$1: its changes"; return; }
  files=$(sort -u "$section.files" | grep -c '')
  sort -u "$section.files" >>"$work/changed"
  [ "$files" -le "$2" ] || { : >"$work/log"; fail "$1: $files files, $2 were promised"; }
  echo "$1: $files file(s)"
}
run_commands() { # BIN SECTION...
  bin=$1
  shift
  for section; do
    "$from/$build_text" --bin "$bin" "$work/$(echo "$section" | tr ' ' _)/commands.t" >"$work/log" 2>&1 || fail "$section: its commands"
  done
}
build_text=${build#"$from"/}/run_text

# The command from the objects of the build, with the changed sources compiled anew.
link_changed() {
  mkdir -p "$work/gen" "$work/bin" "$work/obj"
  cc="${CC:-cc} -std=gnu17 -O0 -w -fPIC -fvisibility=hidden -ffp-contract=off -pthread -I$tree -I$work/gen -I$build/gen"
  cc="$cc -DVIEWFOLD_VERSION=\"0\""
  find "$build/obj" -name '*.o' | grep -E '/obj/(ir|passes|codegen|runtime|frontend|gen)/' |
    grep -vE '/obj/(codegen/llvm|runtime/serve|passes/index/rules|frontend/python)/' >"$work/objects"
  for file in $(sort -u "$work/changed" | grep -E '[.](c|rules)$'); do
    case $file in
    *.rules)
      name=gen/$(basename "$file" .rules)_rules
      "$build/rulec" "$tree/$file" "$work/$name.c" || return 1
      source=$work/$name.c ;;
    *) name=${file%.c} source=$tree/$file ;;
    esac
    grep -vxF "$build/obj/$name.o" "$work/objects" >"$work/kept"
    object=$work/obj/$(echo "$name" | tr / _).o
    $cc -c "$source" -o "$object" || return 1
    echo "$object" >>"$work/kept"
    mv "$work/kept" "$work/objects"
  done
  # shellcheck disable=SC2046  # a list of files
  ${CC:-cc} -pthread $(cat "$work/objects") $(sed -n 's|^LIB_LIBS := ||p' Makefile) -ljansson -o "$work/bin/viewfold" &&
    ln -s "$build/viewfold-llvm.so" "$build/viewfold-compile" "$work/bin/"
}

change "A rewrite rule" 1
change "A pass" 3
if [ "$level" = test ]; then
  link_changed >"$work/log" 2>&1 || fail "linking the changed sources"
  [ $failed = 1 ] || run_commands "$work/bin" "A rewrite rule" "A pass"
else
  change "An operation" 4
  change "A property of targets" 3
  change "A back end" 4
  (cd "$tree" && make -j2 all && sh test/style.sh --derived build && make -j2 all) >"$work/log" 2>&1 || fail "building the changed tree"
  [ $failed = 1 ] || run_commands "$tree/build" "A rewrite rule" "A pass" "An operation" "A property of targets" "A back end"
fi
[ $failed = 0 ] && echo "the examples of $page work, of which $(sort -u "$work/changed" | grep -c '') files were changed"
exit $failed
