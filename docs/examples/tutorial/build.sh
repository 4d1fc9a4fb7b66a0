#!/bin/sh
# Cuts the C functions out of docs/tutorial.md and makes of them the program `tutorial`, in the working directory.
set -e
here=$(dirname "$0") work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '
  /^```/ { inside = /^```c$/; if (inside) printf "#line %d \"tutorial.md\"\n", NR + 1; next }
  inside' "$here/../../tutorial.md" >"$work/examples.h"
sed -n 's/^void \(.*\)(vf_graph [*]g) {$/{"\1", \1, NULL},/p
  s/^void \(.*\)(vf_context [*]context) {$/{"\1", NULL, \1},/p' "$work/examples.h" >"$work/examples.list"
# shellcheck disable=SC2046  # a list of words
cc -I"$work" -I"$here" "$here/main.c" $(pkg-config --cflags --libs viewfold) -o tutorial
