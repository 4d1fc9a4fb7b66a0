#!/bin/sh
# What `make install` and `make dist` leave: programs are built with it by pkg-config, with the archive, and by CMake, also after
# its folder was moved; every exported function has a page of the manual; nothing has symbols for debugging or names the tree; and
# `make uninstall` takes all away. full: two folders with the sources of the archive give the same files.
. test/campaign/common.sh
needs "$build/libviewfold.so.0" "make"
from=$PWD prefix_made=$work/first/prefix
failed=0
fail() { echo "FAIL $*"; failed=1; }
# nothing WHAT: lines on standard input are what is wrong.
nothing() { cat >"$work/found"; [ ! -s "$work/found" ] || { fail "$1"; sed 's/^/  /' "$work/found" | head -20; }; }
# prints EXPECTED WHAT COMMAND...
prints() {
  expected=$1 what=$2
  shift 2
  "$@" >"$work/said" 2>&1
  [ "$(cat "$work/said")" = "$expected" ] || { fail "$what"; sed 's/^/  /' "$work/said" | tail -20; }
}
transposed='5 10 20 10
5.5 11 21 10.5
6 12 22 11'
halved='0 1.5
0.5 2
1 2.5'

make -s install PREFIX="$prefix_made" DESTDIR= >"$work/log" 2>&1 || { cat "$work/log"; echo "FAIL make install"; exit 1; }
lib=$prefix_made/lib
export PKG_CONFIG_PATH="$lib/pkgconfig"

# ------------------------------------------------------------------------------------------------------------- files
nm -D --defined-only "$lib/libviewfold.so.0" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/exported"
(cd "$prefix_made/share/man/man3" && ls) | sed 's/[.]3$//' | sort | diff "$work/exported" - | nothing "a page of section 3 for each function"
awk 'function look() { if (name && n != 5) print name ": " n " of 5"; n = said = 0 }
  FNR == 1 { look(); name = FILENAME; sub(/.*\//, "", name); sub(/[.]3$/, "", name) }
  /^[.]Nm / && $2 == name { n++ } /^[.]Nd ./ { n++ } /^[.]Ft / { n++ } /^[.]Fo / && $2 == name { n++ }
  /^[.]Sh/ { on = $2 == "DESCRIPTION"; next }
  on && /^Statuses, errors/ { on = 0 }
  on && /[a-z]/ && !said { n++; said = 1 }
  END { look() }' "$prefix_made"/share/man/man3/*.3 | nothing "name, brief, type, parameters and description of each page"
[ "$level" != test ] && command -v groff >/dev/null && groff -mdoc -Tutf8 -ww "$prefix_made"/share/man/man3/*.3 2>&1 >/dev/null |
  grep -v "can't break line" | nothing "pages without faults of form"
find "$prefix_made" -type f | while read -r file; do
  case $file in */bin/* | *.so* | */viewfold-compile | *.a) readelf -SW "$file" 2>/dev/null | grep -q '[.]debug_info' && echo "$file" ;; esac
done | nothing "no symbols for debugging"
grep -rlF "$from" "$prefix_made" | nothing "files that name the tree in which they were built"
nm "$lib/libviewfold.a" 2>/dev/null | awk '$2 ~ /^[A-TV-Z]$/ && $3 !~ /^vf_/' | nothing "the archive defines public names alone"

# ------------------------------------------------------------------------------------------------------------ programs
warned="-std=c99 -Wall -Wextra -pedantic -Werror"
# shellcheck disable=SC2046,SC2086  # lists of words
prints '' "a program by pkg-config" ${CC:-cc} $warned docs/examples/scale.c $(pkg-config --cflags --libs viewfold) -Wl,-rpath,"$lib" -o "$work/scale"
prints "$halved" "that program" "$work/scale"
# shellcheck disable=SC2046,SC2086
prints '' "a program with the archive" ${CC:-cc} $warned docs/examples/scale.c $(pkg-config --cflags viewfold) -l:libviewfold.a \
  $(pkg-config --static --libs viewfold | sed 's/-lviewfold//') -o "$prefix_made/bin/scale"
prints "$halved" "that program" "$prefix_made/bin/scale"
readelf -d "$prefix_made/bin/scale" | grep NEEDED.*viewfold | nothing "it needs no shared library of viewfold"
rm "$prefix_made/bin/scale"
# shellcheck disable=SC2046,SC2086
(
  export PKG_CONFIG_PATH="$from/$build"
  prints '' "a program in the tree" ${CC:-cc} $warned docs/examples/scale.c $(pkg-config --cflags --libs viewfold) -Wl,-rpath,"$from/$build" -o "$work/scale"
  prints "$halved" "that program" "$work/scale"
  exit $failed
) || failed=1
cp -R docs/examples/project "$work/project"
prints '' "make in docs/examples/project" env -u MAKEFLAGS -u MFLAGS make -s -C "$work/project" CC="${CC:-cc}" example
# Its folder is moved: all that CMake and the command need is beside them.
mkdir "$work/second" && mv "$prefix_made" "$work/second/elsewhere"
prefix_moved=$work/second/elsewhere
configure() { cmake -S "$1" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix_moved" -DCMAKE_C_COMPILER="${CC:-cc}" >"$work/log" 2>&1; }
if command -v cmake >/dev/null; then
  if configure "$work/project" && cmake --build "$work/cmake" >>"$work/log" 2>&1; then
    prints "$transposed" "the program of CMake" "$work/cmake/example"
  else
    fail "CMake: docs/examples/project"
    tail -20 "$work/log"
  fi
fi
if [ "$level" != test ] && command -v cmake >/dev/null; then
  version=$(sed -n 's/^VERSION := //p' Makefile)
  for asked in 0 0.1 "$version" "$version EXACT"; do echo "$asked: yes"; done >"$work/versions"
  for asked in 0.2 1 0.1.99 0.0 "0.0.9 EXACT"; do echo "$asked: no"; done >>"$work/versions"
  mkdir "$work/versions.d"
  { # All in one configuration, since each takes a second.
    echo 'cmake_minimum_required(VERSION 3.16)'
    echo 'project(versions NONE)'
    while IFS=: read -r asked found; do
      echo "unset(viewfold_DIR CACHE)"
      echo "find_package(viewfold $asked QUIET)"
      printf 'if(viewfold_FOUND)\nset(found " yes")\nelse()\nset(found " no")\nendif()\n'
      printf 'if(NOT found STREQUAL "%s")\nmessage(SEND_ERROR "version %s found:${found}")\nendif()\n' "$found" "$asked"
    done <"$work/versions"
  } >"$work/versions.d/CMakeLists.txt"
  rm -rf "$work/cmake"
  configure "$work/versions.d" || { fail "CMake: versions"; tail -20 "$work/log"; }
fi
command -v cmake >/dev/null || cmake_missing=", without CMake"
mv "$prefix_moved" "$prefix_made"

# ---------------------------------------------------------------------------------------------------------- completion
# complete WORD... prints what the last word may become.
complete() {
  PATH="$prefix_made/bin:$PATH" bash -c '. "$0" && COMP_WORDS=(viewfold "$@") COMP_CWORD=$# && _viewfold && printf "%s\n" "${COMPREPLY[@]}"' \
    "$prefix_made/share/bash-completion/completions/viewfold" "$@" | sort | tr '\n' ' '
}
if command -v bash >/dev/null; then
  prints 'devices dump ' "completion of a command" complete d
  prints '--target ' "completion of an option" complete build --ta
  prints 'prune ' "completion of a word" complete cache p
  prints 'matmul ' "completion of an operation" complete ops matm
  prints 'README.md ' "completion of a file" complete run READ
fi
if command -v zsh >/dev/null; then zsh -n "$prefix_made/share/zsh/site-functions/_viewfold" 2>&1 | nothing "completion in zsh"; fi

# ------------------------------------------------------------------------------------------------------------- headers
if command -v clang >/dev/null; then
  printf '#include <viewfold.h>\n#include <viewfold_pool.h>\n' >"$work/header.c"
  # -Wpadded: members are in the order in which versions added them.
  clang -std=c99 -Weverything -Wno-padded -Werror -fsyntax-only -I "$prefix_made/include" "$work/header.c" 2>&1 | nothing "headers under -Weverything"
fi

make -s uninstall PREFIX="$prefix_made" DESTDIR= >"$work/log" 2>&1 || { cat "$work/log"; fail "make uninstall"; }
find "$prefix_made" ! -type d | nothing "what make uninstall leaves"

# ------------------------------------------------------------------------------------------------------------- archive
archive=build/viewfold-$(sed -n 's/^VERSION := //p' Makefile).tar.gz
make -s dist >"$work/log" 2>&1 || { cat "$work/log"; fail "make dist"; }
cp "$archive" "$work/one.tar.gz" && make -s dist >"$work/log" 2>&1 && cmp "$archive" "$work/one.tar.gz" 2>&1 | nothing "the archive twice"
tar -tzf "$archive" | grep -qx '[^/]*/Makefile' || fail "the archive has the Makefile"
tar -tzf "$archive" | grep '^[^/]*/build/' | nothing "the archive has nothing of build/"
if [ "$level" = full ]; then
  for copy in here there; do
    mkdir "$work/$copy" && tar -xzf "$archive" -C "$work/$copy" --strip-components=1 &&
      make -s -C "$work/$copy" MAKEFLAGS=-j2 install DESTDIR="$work/$copy.installed" >"$work/log" 2>&1 || { tail -5 "$work/log"; fail "building the archive"; }
  done
  diff -r "$work/here.installed" "$work/there.installed" 2>&1 | nothing "the same files from two folders"
fi

[ $failed = 0 ] && echo "installed, used by pkg-config, as an archive and by CMake, moved and removed: $(grep -c '' "$work/exported") pages${cmake_missing:-}"
exit $failed
