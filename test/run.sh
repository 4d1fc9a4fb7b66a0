#!/bin/sh
# Runs parts of the test suite on what is already built, and counts.
#
#   test/run.sh [--level LEVEL] DIR:KIND[,KIND...] ...   DIR is a build directory; KIND is unit, property, text, conform,
#                                                        python, opencl, campaign or style
#
# LEVEL is test (make test, and when unset), short (make soak-short) or full (make soak): it chooses how much
# is tried. Environment: ONLY=TEXT runs only tests whose file name holds TEXT; SEED=N is the seed of random
# tests (1 when unset, so that a run can be repeated; a fresh one for `full`); TEST_JOBS=N runs that many
# executables at once (default: cores); EMULATOR=WORDS runs them by another program.
#
# Each cmocka function, text case, property run, conformance case, OpenCL job, campaign and style check counts
# as one test. The output of a failed test is shown, all output is kept in DIR/log/ (DIR/soak-short/,
# DIR/soak/). Then comes the processor time of all tests and of the most expensive; the last line is `N
# passed, N failed` (and `, N skipped`); status 1 if any failed.
set -u
cd "$(dirname "$0")/.." || exit 2

# Limits. Every process of a test may use so many seconds of processor time, which do not depend on how busy
# the machine is: the longest test uses 30 where it was measured, so that a machine ten times slower stays far
# below. A test whose processes all sleep for good uses none: it is stopped after so many seconds of real
# time. 60 seconds of work are 300 on a fifth of a core, and 3000 if that core is ten times slower.
LEVEL=test cpu_limit=900 wall_limit=3600
if [ "${1:-}" = --level ]; then LEVEL=$2; shift 2; fi
[ "$LEVEL" = full ] && cpu_limit=604800 wall_limit=604800
[ "$LEVEL" = short ] && cpu_limit=3600 wall_limit=14400
if [ -z "${SEED:-}" ]; then
  SEED=1
  [ "$LEVEL" = full ] && SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fi
jobs=${TEST_JOBS:-$(nproc 2>/dev/null || echo 1)}
unset VIEWFOLD_CACHE_DIR VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
export LC_ALL=C SEED TEST_LEVEL="$LEVEL"
# The optimizer of PoCL, which is a quarter of the time of the tests that run on it, is left to the soaks.
[ "$LEVEL" = test ] && export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable

# A sanitized test that fails says by which function a block was allocated, not by which thirty: to find them at each call takes
# up to a fifth of its time. By itself it says all.
[ "$LEVEL" = test ] && export ASAN_OPTIONS=malloc_context_size=1

# counts_for NAME: prints the number of cases that the level asks for and further arguments, from
# test/property/counts.
counts_for() {
  awk -v name="$1" -v level="$LEVEL" '
    $1 == name { row = $0 }
    END {
      if (!row) row = name " 1000 20000 1000000"
      n = split(row, f)
      if (f[2] f[3] f[4] !~ /^[0-9]+$/) { print "test/property/counts: three numbers are wanted: " row >"/dev/stderr"; exit 1 }
      printf "%s", f[level == "full" ? 4 : level == "short" ? 3 : 2]
      for (i = 5; i <= n && level == "full"; i++) printf " %s", f[i]
      print ""
    }' test/property/counts
}

# limited RESULT COMMAND...: runs the command within the limits. Leaves RESULT.seconds, the processor time
# that it and its children used.
limited() {
  _result=${1%.result}
  shift
  (
    ulimit -S -t $cpu_limit 2>/dev/null && ulimit -H -t $((cpu_limit + 60)) 2>/dev/null
    timeout --kill-after=60 $wall_limit "$@"
    _status=$?
    times >"$_result.times"
    awk 'END { gsub("[ms]", " "); split($0, t); printf "%.2f\n", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$_result.times" \
      >"$_result.seconds"
    rm -f "$_result.times"
    exit $_status
  )
  _status=$?
  case $_status in
  124) echo "stopped: it had not ended after $wall_limit seconds" ;;
  152) echo "stopped: it used more than $cpu_limit seconds of processor time" ;;
  esac
  return $_status
}

# Every runner leaves $LOGS/NAME.log and, next to it, NAME.result: `PASSED FAILED SKIPPED`.

run_unit() { # EXECUTABLE LOG RESULT
  CMOCKA_MESSAGE_OUTPUT=TAP limited "$3" $prefix "$1" >"$2" 2>&1
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

# one_result STATUS LOG RESULT: for a job that counts as one test; its status is 77 when it cannot run here.
one_result() {
  case $1 in
  0) echo 1 0 0 ;;
  77) echo 0 0 1 ;;
  *) echo 0 1 0 ;;
  esac >"$3"
  [ "$1" = 0 ] || echo "exit status $1" >>"$2"
}

# Under a sanitizer, and in an emulator, a tenth of the cases: the results are those of the other builds, and memory errors show
# early. That the frame of a function is not used when it has returned, which doubles the time, is watched by the unit tests and
# the text tests alone there.
run_property() { # EXECUTABLE LOG RESULT
  exe=$1 log=$2 result=$3
  # shellcheck disable=SC2046  # a list of words
  set -- $(counts_for "${exe##*/}")
  count=$1
  shift
  case $dir:$LEVEL:${EMULATOR:+emulated} in *san-*:test:* | *:test:emulated) count=$(((count + 9) / 10)) ;; esac
  echo "${exe##*/} --seed $SEED --count $count $*" >"$log"
  case $dir:$LEVEL in *san-*:test) ASAN_OPTIONS=$ASAN_OPTIONS:detect_stack_use_after_return=0 ;; esac
  limited "$result" $prefix "$exe" --seed "$SEED" --count "$count" "$@" >>"$log" 2>&1
  one_result $? "$log" "$result"
}

run_opencl() { # JOB LOG RESULT
  limited "$3" sh "$1" "$dir" build/check "$LEVEL" "$SEED" >"$2" 2>&1
  one_result $? "$2" "$3"
}

run_campaign() { # JOB LOG RESULT
  limited "$3" $prefix sh "$1" "$dir" "$LEVEL" "$SEED" >"$2" 2>&1
  one_result $? "$2" "$3"
}

# One executable, in a cache directory of its own. Called through xargs as: run.sh --level LEVEL --one KIND DIR EXECUTABLE
if [ "${1:-}" = --one ]; then
  kind=$2 dir=$3 exe=$4
  prefix=
  [ "$LEVEL" = full ] && prefix='nice -n 10'
  prefix="$prefix ${EMULATOR:-}"
  case $dir in *san-thread) prefix="$prefix setarch $(uname -m) -R" ;; esac
  VIEWFOLD_CACHE_DIR=$(mktemp -d) || exit 2
  export VIEWFOLD_CACHE_DIR POCL_CACHE_DIR="$VIEWFOLD_CACHE_DIR/pocl"
  mkdir "$POCL_CACHE_DIR"
  trap 'rm -rf "$VIEWFOLD_CACHE_DIR"' EXIT
  log=$LOGS/${exe##*/}.log
  "run_$kind" "$exe" "$log" "$LOGS/${exe##*/}.result"
  read -r passed failed skipped <"$LOGS/${exe##*/}.result"
  if [ "$failed" != 0 ]; then
    { echo "FAIL $exe"; sed 's/^/  | /' "$log"; } | tail -n 200
  elif [ "$kind" != unit ]; then
    grep -v '^exit status' "$log" | tail -n 1
  fi
  exit 0
fi

run_each() { # KIND DIR, and executables on standard input
  LOGS=$LOGS xargs -r -P "$jobs" -n 1 sh test/run.sh --level "$LEVEL" --one "$1" "$2"
}

# is_left_out DIR NAME: does test/sanitized.except list it, and is it not asked for by name?
is_left_out() {
  case $1:$LEVEL:${ONLY:-} in *san-*:test:) grep -qx "$2" test/sanitized.except ;; *) false ;; esac
}

run_executables() { # KIND DIR
  find "$2/$1" -maxdepth 1 -type f -perm -u+x -name "*${ONLY:-}*" 2>/dev/null | sort |
    while read -r exe; do
      name=${exe##*/}
      [ -e "test/$1/$name.c" ] && ! is_left_out "$2" "$name" && echo "$exe"
    done | run_each "$1" "$2"
}

run_jobs() { # KIND DIR
  find "test/$1" -name "*${ONLY:-}*.sh" ! -name common.sh 2>/dev/null | sort | run_each "$1" "$2"
}

# The text files without those that test/sanitized.except lists, itself or the folder that they are in: of the
# files about errors all, whose inputs are the ones that memory faults come from, of the others each third.
sanitized_texts() {
  find test/text -name '*.t' | LC_ALL=C sort | awk '
    NR == FNR { if (/^test\/text\//) except[$0] = 1; next }
    { for (at = $0; at != "test/text"; sub("/[^/]*$", "", at)) if (at in except) next }
    /^test\/text\/errors\// || ++others % 3 == 1' test/sanitized.except -
}

run_text_files() { # KIND DIR
  if [ ! -x "$2/viewfold" ]; then echo "skip: $2/viewfold is not built"; return; fi
  texts=test/text
  case $LEVEL,${ONLY:-},$2 in test,,*san-*) texts=$(sanitized_texts) ;; esac
  # shellcheck disable=SC2086
  limited "$LOGS/all" build/run_text --bin "$2" --jobs "$jobs" --costs "$LOGS/file.costs" ${ONLY:+--only "$ONLY"} $texts \
    >"$LOGS/all.log" 2>&1
  sed '$d' "$LOGS/all.log"
  sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$LOGS/all.log" >"$LOGS/all.result"
  [ -s "$LOGS/all.result" ] || { cat "$LOGS/all.log"; echo 0 1 0 >"$LOGS/all.result"; }
}

. test/python.sh

run_conformance() { # KIND DIR
  scripts="handle_calls:sys writes:numpy reference_calls:numpy create_view:numpy data_views:numpy letters:numpy reshard_search:numpy reshard_xla:numpy reshard_run:numpy propagate_shardy:numpy onnx_import:onnx onnx_messages:onnx onnx_versions:onnx onnx_narrow:onnx onnx_microsoft:onnx onnx_random:onnx numpy_oracle:numpy random_graphs:numpy reduced_views:numpy symbolic_sizes:numpy spec_rows:sys
    minilm:numpy jax_compare:jax tinygrad_chains:tinygrad array_files:safetensors,gguf objects:numpy objects_random:numpy"
  [ "$LEVEL" = test ] || scripts="$scripts onnx_newest:venv" # it installs a package of its own
  for script in $scripts; do
    name=${script%:*} module=${script#*:}
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    log=$LOGS/$name.log
    python=$(python_with "$module")
    if [ -z "$python" ]; then
      how=$(sh .ci/deps check conform 2>&1 | sed -n 2p)
      case $module in jax | tinygrad) how="pip install $module" ;; esac # large, or in no package that the suite installs
      echo "skip: $name needs Python with $module; $how" >"$log"
      status=77
    else
      # shellcheck disable=SC2046,SC2086  # a list of words
      limited "$LOGS/$name" "$python" -B "test/conform/$name.py" --build "$2" --seed "$SEED" --count $(counts_for "$name") \
        >"$log" 2>&1
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

# The Python package, by the Python that its module was built for.
run_python() { # KIND DIR
  if [ ! -e "$2/package/viewfold/_native.abi3.so" ]; then
    echo "skip: the Python package needs Python.h; $(sh .ci/deps check python 2>&1 | sed -n 2p)" | tee "$LOGS/all.log"
    echo 0 0 1 >"$LOGS/all.result"
    return
  fi
  VIEWFOLD_CACHE_DIR=$(mktemp -d) || exit 2
  export VIEWFOLD_CACHE_DIR
  limited "$LOGS/all" "$(python_with numpy)" -B test/python/run.py --package "$2/package" --only "${ONLY:-}" >"$LOGS/all.log" 2>&1
  rm -rf "$VIEWFOLD_CACHE_DIR"
  unset VIEWFOLD_CACHE_DIR
  sed -n '$s/^python: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$LOGS/all.log" >"$LOGS/all.result"
  grep -q '^[1-9][0-9]* 0 ' "$LOGS/all.result" || sed 's/^/  | /' "$LOGS/all.log"
  sed -n '$p' "$LOGS/all.log"
  [ -s "$LOGS/all.result" ] || echo 0 1 0 >"$LOGS/all.result"
}

run_style_checks() { # KIND DIR
  limited "$LOGS/all" sh test/style.sh "$2" >"$LOGS/all.log" 2>&1
  grep -v '^ok ' "$LOGS/all.log"
  awk '/^ok /{p++} /^FAIL /{f++} /^skip /{s++} END { if (!(p+f+s)) f = 1; print p+0, f+0, s+0 }' "$LOGS/all.log" \
    >"$LOGS/all.result"
}

# Results and costs of all kinds, in order: DIR KIND.
total_passed=0 total_failed=0 total_skipped=0 logs=
for part in "$@"; do
  dir=${part%%:*}
  for kind in $(echo "${part#*:}" | tr , ' '); do
    case $LEVEL in test) LOGS=$dir/log/$kind ;; short) LOGS=$dir/soak-short/$kind ;; *) LOGS=$dir/soak/$kind ;; esac
    rm -rf "$LOGS"
    mkdir -p "$LOGS"
    case $kind in
    unit | property) run_executables "$kind" "$dir" ;;
    text) run_text_files "$kind" "$dir" ;;
    opencl | campaign) run_jobs "$kind" "$dir" ;;
    conform) run_conformance "$kind" "$dir" ;;
    python) run_python "$kind" "$dir" ;;
    style) run_style_checks "$kind" "$dir" ;;
    *) echo "run.sh: no kind of test is called $kind" >&2; exit 2 ;;
    esac
    set_of=$(cat "$LOGS"/*.result 2>/dev/null | awk '{p+=$1; f+=$2; s+=$3} END {print p+0, f+0, s+0}')
    read -r passed failed skipped <<END
$set_of
END
    seconds=$(cat "$LOGS"/*.seconds 2>/dev/null | awk '{s+=$1} END {printf "%.0f", s}')
    case $kind in property | campaign) seed=" (seed $SEED)" ;; *) seed= ;; esac
    echo "$dir $kind$seed: $passed passed, $failed failed, $skipped skipped; $seconds s of processor time"
    logs="$logs $LOGS"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
  done
done

# NAME.seconds are summed; for text tests, file.costs gives each file's share of all.seconds.
for folder in $logs; do
  for file in "$folder"/*.seconds; do
    [ -e "$file" ] && [ ! -e "$folder/file.costs" ] && echo "$(cat "$file") $(basename "$file" .seconds), $folder"
  done
  [ -e "$folder/file.costs" ] && sed "s|\$|, $folder|" "$folder/file.costs"
done | sort -rn | awk '
  { sum += $1 }
  NR <= 10 { first = $1; $1 = ""; line[NR] = sprintf("%8.1f %s", first, $0) }
  END {
    printf "processor time: %.0f s; the most expensive:\n", sum
    for (i = 1; i <= 10 && i <= NR; i++) print line[i]
  }'

[ $((total_passed + total_failed)) = 0 ] && { echo "no test ran"; total_failed=1; }
last="$total_passed passed, $total_failed failed"
[ "$total_skipped" != 0 ] && last="$last, $total_skipped skipped"
echo "$last"
[ "$total_failed" = 0 ]
