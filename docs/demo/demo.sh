#!/bin/sh
# The demonstration: docs/demo/demo.sh BUILD_DIR. What it makes lies in BUILD_DIR/demo/.
set -eu
cd "$(dirname "$0")/../.."
build=$1
out=$build/demo
viewfold=$build/viewfold
say() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
index() { printf '%s\n    ' "$1"; "$viewfold" index "$2" | sed '2,$s/^/    /'; }

say "Read the photograph into an array (height, width, colour)"
show "$out/picture" docs/demo/photo.png "$out/photo.npy"

say "Each chain of views folds to one expression: where in the photograph an element of the result is found"
index "as it lies in memory: bhwc" 'u8[1,256,384,3]'
index "colour planes: bhwc -> bchw" 'u8[1,256,384,3].permute(0,3,1,2)'
index "patches of 16x16, one per row" \
  'u8[1,256,384,3].permute(0,3,1,2).reshape(1,3,16,16,24,16).permute(0,2,4,1,3,5).reshape(384,768)'
index "the neighbour above, with a border of zeros" \
  'f32[1,3,256,384].pad((0,0),(0,0),(1,1),(0,0)).shrink((0,1),(0,3),(0,256),(0,384))'

say "The same views in a graph that also blurs: compiled, run, and checked against the reference evaluator"
show "$viewfold" run docs/demo/photo.vf --in photo="$out/photo.npy" --out planes="$out/planes.npy" \
  --out patches="$out/patches.npy" --out blurred="$out/blurred.npy" --check --time

say "Write the blurred array as a picture"
show "$out/picture" "$out/blurred.npy" "$out/blurred.png"

say "Made in $out"
for f in photo.npy planes.npy patches.npy blurred.npy blurred.png; do
  printf '  %-14s %s bytes\n' "$f" "$(wc -c <"$out/$f")"
done
