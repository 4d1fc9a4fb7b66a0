#!/bin/sh
# The demonstration: docs/demo/demo.sh BUILD_DIR. What it makes lies in BUILD_DIR/demo/.
set -eu
cd "$(dirname "$0")/../.."
build=$1
out=$build/demo
PATH=$PWD/$build:$PATH
VIEWFOLD_CACHE_DIR=$PWD/$out/cache # its own, and empty, so that the first run is cold
export PATH VIEWFOLD_CACHE_DIR
unset VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
rm -rf "$VIEWFOLD_CACHE_DIR" "$out/failed"

step=0
say() { # TITLE SENTENCE...
  step=$((step + 1))
  printf '\n%s. %s\n' "$step" "$1"
  shift
  if [ $# -gt 0 ]; then printf '   %s\n' "$@"; fi
  echo
}
# What a command prints, indented. A pipe hides the status of what feeds it, so a failure is noted on the side.
show() {
  line=
  for word; do
    case $word in *[!A-Za-z0-9_./=:-]*) word="'$word'" ;; esac
    line="$line$word "
  done
  printf '$ %s' "${line% }" | fold -s -w 112 | sed '$!s/$/\\/; 2,$s/^/    /; s/^/   /'
  echo
  { "$@" || echo $? >"$out/failed"; } | sed 's/^\(.\)/   \1/'
  if [ -e "$out/failed" ]; then
    status=$(cat "$out/failed")
    rm -f "$out/failed"
    exit "$status"
  fi
}
index() { # TITLE CHAIN
  printf '   %s\n' "$1"
  show viewfold index "$2"
  echo
}

say "The photograph becomes an array" \
  "A cat, 256 rows of 384 pixels of 3 colours, as .npy: the layout called hwc, or bhwc with a batch of 1 before it."
show "$out/picture" docs/demo/photo.png "$out/photo.npy"

say "Views fold into index expressions" \
  "Nothing is moved when a view is taken. What stays of a chain of them is where an element of the result, at" \
  "[ridx0, ridx1, ...], lies in the photograph."
index "bhwc, as it lies in memory" 'u8[1,256,384,3]'
index "bhwc -> bchw: the colour planes, one after the other" 'u8[1,256,384,3].permute(0,3,1,2)'
index "bchw -> patches of 16x16 pixels, one per row" \
  'u8[1,256,384,3].permute(0,3,1,2).reshape(1,3,16,16,24,16).permute(0,2,4,1,3,5).reshape(384,768)'
index "the neighbour above, by pad and shrink; the border, where there is none, is not valid" \
  'f32[1,3,256,384].pad((0,0),(0,0),(1,1),(0,0)).shrink((0,1),(0,3),(0,256),(0,384))'
index "an eye enlarged four times, by shrink and expand" \
  'u8[256,384,3].shrink((60,124),(76,172),(0,3)).reshape(64,1,96,1,3).expand(64,4,96,4,3).reshape(256,384,3)'

say "A graph puts them to use" \
  "docs/demo/photo.vf takes the planes and the patches, blurs with a 3x3 pooling window made of pad, shrink and add," \
  "and enlarges an eye before and after. These are the kernels that its operations become; no view is left as a step of its own."
show viewfold dump --stage=kernels docs/demo/photo.vf

say "Compiled and run" \
  "LLVM makes machine code of the kernels. --check compares every result with the reference evaluator, which computes" \
  "one operation after the other; --time tells how long the first result took (cold_ms, of which compile_ms compiling)" \
  "and one further run (ms)."
run() {
  show viewfold run docs/demo/photo.vf --in photo="$out/photo.npy" --out planes="$out/planes.npy" \
    --out patches="$out/patches.npy" --out blurred="$out/blurred.npy" --out closely="$out/closely.npy" --time "$@"
}
run --check

say "Run again by another process" \
  "The kernels come from the cache on disk; VIEWFOLD_COMPILE=0 makes it fail rather than compile anything."
export VIEWFOLD_COMPILE=0
run
show viewfold cache stat

say "The arrays become pictures"
show "$out/picture" "$out/blurred.npy" "$out/blurred.png"
show "$out/picture" "$out/closely.npy" "$out/closely.png"

say "Made in $out"
for f in photo.npy planes.npy patches.npy blurred.npy blurred.png closely.npy closely.png; do
  printf '   %-12s %7s bytes\n' "$f" "$(wc -c <"$out/$f" | tr -d ' ')"
done
