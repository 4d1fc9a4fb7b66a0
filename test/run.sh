#!/bin/sh
# Run parts of the test suite on what is already built, and count.
#
#   test/run.sh [--soak] DIR:KIND[,KIND...] ...      DIR is a build directory; KIND is unit, property, text, conform,
#                                                    opencl or style
#
# Environment: ONLY=TEXT runs only tests whose file name holds TEXT; SEED=N seeds the property tests (1 when unset, so
# that a run can be repeated; a fresh one with --soak); TEST_JOBS=N runs that many executables at once (default: cores).
# Each cmocka function, text case, property run, conformance case, OpenCL job and style check counts as one test. What a failed test wrote is shown,
# everything is kept in DIR/log/ (of a soak, in build/soak/). The last line is `N passed, N failed` (and `, N skipped`); status 1 if any failed.
set -u
cd "$(dirname "$0")/.." || exit 2

soak=
if [ "${1:-}" = --soak ]; then soak=1; shift; fi
if [ -z "${SEED:-}" ]; then
  if [ -n "$soak" ]; then SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); else SEED=1; fi
fi
jobs=${TEST_JOBS:-$(nproc 2>/dev/null || echo 1)}
unset VIEWFOLD_CACHE_DIR VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
export LC_ALL=C SEED
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:allocator_may_return_null=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
[ -e test/lsan.supp ] && export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/test/lsan.supp:print_suppressions=0}"

# counts_for NAME: the line `COUNT SOAK_COUNT SOAK_ARGUMENTS` of test/property/counts, or the default.
counts_for() {
  awk -v name="$1" '$1 == name { $1 = ""; print; found = 1 } END { if (!found) print "1000 1000000" }' \
    test/property/counts
}

# Every runner leaves $LOGS/NAME.log and, beside it, NAME.result: `PASSED FAILED SKIPPED`.

run_unit() { # EXECUTABLE LOG RESULT
  CMOCKA_MESSAGE_OUTPUT=TAP timeout "${TEST_TIMEOUT:-600}" $prefix "$1" >"$2" 2>&1
  status=$?
  awk -v status=$status '
    /^ok .*# SKIP/ || /^not ok .*# SKIP/ { skipped++; next }
    /^ok /     { passed++ }
    /^not ok / { failed++ }
    END {
      if (!failed && status != 0) failed = 1                 # crashed, or a fixture failed
      if (!passed && !failed && !skipped) failed = 1         # ran nothing
      print passed + 0, failed + 0, skipped + 0
    }' "$2" >"$3"
  echo "exit status $status" >>"$2"
}

run_property() { # EXECUTABLE LOG RESULT
  # shellcheck disable=SC2046  # a list of words
  set -- "$1" "$2" "$3" $(counts_for "${1##*/}")
  exe=$1 log=$2 result=$3 count=$4 limit=600
  if [ -n "$soak" ]; then
    count=$5 limit=86400
    prefix="nice -n 10 $prefix"
    shift 5
  else
    shift $#
  fi
  echo "${exe##*/} --seed $SEED --count $count $*" >"$log"
  timeout "${TEST_TIMEOUT:-$limit}" $prefix "$exe" --seed "$SEED" --count "$count" "$@" >>"$log" 2>&1
  status=$?
  case $status in
  0) echo 1 0 0 ;;
  77) echo 0 0 1 ;;
  *) echo 0 1 0 ;;
  esac >"$result"
  [ $status = 0 ] || echo "exit status $status" >>"$log"
}

run_opencl() { # JOB LOG RESULT
  SEED=$SEED timeout "${TEST_TIMEOUT:-$([ -n "$soak" ] && echo 86400 || echo 900)}" \
    sh "$1" "$dir" build/check "${soak:-0}" "$SEED" >"$2" 2>&1
  status=$?
  case $status in
  0) echo 1 0 0 ;;
  77) echo 0 0 1 ;;
  *) echo 0 1 0 ;;
  esac >"$3"
  [ $status = 0 ] || echo "exit status $status" >>"$2"
}

# One executable, in a cache directory of its own. Called through xargs as: run.sh --one KIND DIR EXECUTABLE
if [ "${1:-}" = --one ]; then
  kind=$2 dir=$3 exe=$4
  soak=${SOAK:-}
  prefix=
  case $dir in *san-thread) prefix="setarch $(uname -m) -R" ;; esac
  VIEWFOLD_CACHE_DIR=$(mktemp -d) || exit 2
  export VIEWFOLD_CACHE_DIR POCL_CACHE_DIR="$VIEWFOLD_CACHE_DIR/pocl"
  mkdir "$POCL_CACHE_DIR"
  trap 'rm -rf "$VIEWFOLD_CACHE_DIR"' EXIT
  # The leak checker crashes now and then at the end of a process that had threads: then it has checked nothing.
  for attempt in 1 2 3; do
    "run_$kind" "$exe" "$LOGS/${exe##*/}.log" "$LOGS/${exe##*/}.result"
    grep -q 'LeakSanitizer has encountered a fatal error' "$LOGS/${exe##*/}.log" || break
  done
  read -r passed failed skipped <"$LOGS/${exe##*/}.result"
  log=$LOGS/${exe##*/}.log
  if [ "$failed" != 0 ]; then
    { echo "FAIL $exe"; sed 's/^/  | /' "$log"; } | tail -n 200
  elif [ "$kind" != unit ]; then
    grep -v '^exit status' "$log" | tail -n 1
  fi
  exit 0
fi

run_executables() { # KIND DIR
  find "$2/$1" -maxdepth 1 -type f -perm -u+x -name "*${ONLY:-}*" 2>/dev/null | sort |
    while read -r exe; do [ -e "test/$1/${exe##*/}.c" ] && echo "$exe"; done |
    SOAK=$soak LOGS=$LOGS xargs -r -P "$jobs" -n 1 sh test/run.sh --one "$1" "$2"
}

run_jobs() { # KIND DIR
  find "test/$1" -name "*${ONLY:-}*.sh" ! -name common.sh | sort |
    SOAK=$soak LOGS=$LOGS xargs -r -P "$jobs" -n 1 sh test/run.sh --one "$1" "$2"
}

run_text_files() { # KIND DIR
  if [ ! -x "$2/viewfold" ]; then echo "skip: $2/viewfold is not built"; return; fi
  build/run_text --bin "$2" --jobs "$jobs" ${ONLY:+--only "$ONLY"} test/text >"$LOGS/all.log" 2>&1
  sed '$d' "$LOGS/all.log"
  sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$LOGS/all.log" >"$LOGS/all.result"
  [ -s "$LOGS/all.result" ] || { cat "$LOGS/all.log"; echo 0 1 0 >"$LOGS/all.result"; }
}

. test/python.sh

run_conformance() { # KIND DIR
  for script in onnx_nodes:onnx numpy_oracle:numpy symbolic_sizes:numpy random_graphs:numpy spec_rows:sys jax_compare:jax; do
    name=${script%:*} module=${script#*:}
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    log=$LOGS/$name.log
    python=$(python_with "$module")
    if [ -z "$python" ]; then
      how=$(sh .ci/deps check conform 2>&1 | sed -n 2p)
      [ "$module" = jax ] && how="pip install jax" # large, and no package of the suite
      echo "skip: $name needs Python with $module; $how" >"$log"
      status=77
    else
      # shellcheck disable=SC2046  # a list of words
      set -- "$1" "$2" $(counts_for "$name")
      count=$3
      [ -n "$soak" ] && count=$4
      timeout "${TEST_TIMEOUT:-$([ -n "$soak" ] && echo 86400 || echo 600)}" "$python" -B "test/conform/$name.py" \
        --build "$2" --seed "$SEED" --count "$count" >"$log" 2>&1
      status=$?
    fi
    sed -n '$p' "$log"
    case $status in
    0 | 1) [ $status = 0 ] || sed 's/^/  | /' "$log" | tail -n 200
      sed -n '$s/^[a-z_]*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\1 \2 0/p' "$log" >"$LOGS/$name.result" ;;
    77) echo 0 0 1 >"$LOGS/$name.result" ;;
    esac
    [ -s "$LOGS/$name.result" ] || { cat "$log"; echo "exit status $status"; echo 0 1 0 >"$LOGS/$name.result"; }
  done
}

run_style_checks() { # KIND DIR
  sh test/style.sh "$2" >"$LOGS/all.log" 2>&1
  grep -v '^ok ' "$LOGS/all.log"
  awk '/^ok /{p++} /^FAIL /{f++} /^skip /{s++} END { if (!(p+f+s)) f = 1; print p+0, f+0, s+0 }' "$LOGS/all.log" \
    >"$LOGS/all.result"
}

total_passed=0 total_failed=0 total_skipped=0
for part in "$@"; do
  dir=${part%%:*}
  for kind in $(echo "${part#*:}" | tr , ' '); do
    LOGS=$dir/log/$kind
    [ -n "$soak" ] && LOGS=build/soak
    rm -rf "$LOGS"
    mkdir -p "$LOGS"
    case $kind in
    unit | property) run_executables "$kind" "$dir" ;;
    text) run_text_files "$kind" "$dir" ;;
    opencl) run_jobs "$kind" "$dir" ;;
    conform) run_conformance "$kind" "$dir" ;;
    style) run_style_checks "$kind" "$dir" ;;
    *) echo "run.sh: no kind of test is called $kind" >&2; exit 2 ;;
    esac
    set_of=$(cat "$LOGS"/*.result 2>/dev/null | awk '{p+=$1; f+=$2; s+=$3} END {print p+0, f+0, s+0}')
    read -r passed failed skipped <<EOF
$set_of
EOF
    [ "$kind" = property ] && seed=" (seed $SEED)" || seed=
    echo "$dir $kind$seed: $passed passed, $failed failed, $skipped skipped"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
  done
done

[ $((total_passed + total_failed)) = 0 ] && { echo "no test ran"; total_failed=1; }
last="$total_passed passed, $total_failed failed"
[ "$total_skipped" != 0 ] && last="$last, $total_skipped skipped"
echo "$last"
[ "$total_failed" = 0 ]
