#!/bin/sh
# Kernels of random graphs in Oclgrind's simulator, which reports every access out of bounds, race between
# work-items, read of uninitialized memory and wrong call: kernels for devices of CPU type, and for those of
# GPU type without and with work-items that run in lockstep. Every array is a buffer of its own that is new to
# the run. Results are compared with the evaluator's. Then the same with a mistake planted into every kernel,
# which the simulator has to find.
. test/opencl/common.sh
needs_oclgrind
needs "$checked/property/prop_graph" "make CHECK=1 tests"
needs build/opencl/shim.icd "make CHECK=1 tests"
count=$(at_level 3 30 1000) chunk=50 # a process keeps the memory of all its graphs
export OCL_ICD_VENDORS="$PWD/build/opencl" VF_SHIM_DRIVER="$simulator" VIEWFOLD_DEVICE=opencl VIEWFOLD_TEST_APART=1
export OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1 OCLGRIND_CHECK_API=1 OCLGRIND_MAX_ERRORS=20
export OCLGRIND_NUM_THREADS=1
unset OCLGRIND_LOG
# Oclgrind crashes on vector shuffles with undefined elements, which optimisation makes; and it has OpenCL's
# functions alone. Its division is correctly rounded, though it does not report that: soft_division=0.
export OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -D__has_builtin(x)=0'

# simulate SETTINGS TARGET FIRST COUNT: graphs FIRST, FIRST + 1, ... of the seed. The simulator's messages are
# in the test's output, $work/out: a log file of its own would begin anew with every context.
simulate() {
  VF_SHIM="shadow $1" VIEWFOLD_TEST_TARGET="$2" \
    $prefix "$checked/property/prop_graph" --seed $((seed + $3 * 65537)) --count "$4" >"$work/out" 2>&1
}
is_clean() { # TARGET FIRST COUNT
  simulate '' "$@" && ! grep -Evq '^[0-9]+ warnings? generated\.$|^prop_graph: [0-9]+ graphs' "$work/out"
}

failed=0 first=0
for target in lanes=0 lanes=64 'lanes=32 together=8'; do
  target="$target soft_division=0"
  end=$((first + count))
  while [ $first -lt $end ]; do
    many=$((end - first < chunk ? end - first : chunk))
    if ! is_clean "$target" $first $many; then
      failed=1
      echo "$target, graphs $first to $((first + many - 1)):"
      number=$first # find the graph
      while [ $number -lt $((first + many)) ]; do
        if ! is_clean "$target" $number 1; then
          echo "graph $number: VIEWFOLD_TEST_TARGET='$target' prop_graph --seed $((seed + number * 65537)) --count 1"
          head -n 60 "$work/out"
        fi
        number=$((number + 1))
      done
    fi
    first=$((first + many))
  done
done
asked=$seed seed=1 # a seed whose graphs have buffers to make mistakes with
for plant in 'bounds:Invalid write' 'race:data race' 'unwritten:Uninitialized value'; do
  for target in lanes=0 lanes=64; do
    [ "${plant%%:*} $target" = 'race lanes=0' ] && continue # its groups have one work-item, so no race
    simulate "plant=${plant%%:*}" "$target soft_division=0" 0 4
    if ! grep -qi "${plant#*:}" "$work/out"; then
      echo "$target: a planted mistake, ${plant%%:*}, was not found:"
      tail -n 20 "$work/out"
      failed=1
    fi
  done
done
echo "oclgrind: $first random graphs, a third of them for each of three kinds of device, 3 kinds of planted mistakes, seed $asked"
exit $failed
