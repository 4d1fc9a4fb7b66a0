#!/bin/sh
# Meshes of processes that MPI has started: the same bytes as of threads; and processes that are killed or stopped.
. test/campaign/common.sh
needs "$build/viewfold" make
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || skip "needs Python with numpy (package python3-numpy)"
found=
for i in openmpi mpich; do
  [ -e "$build/viewfold-mpi-$i.so" ] && command -v "mpirun.$i" >/dev/null && found="$found $i"
done
[ -n "$found" ] || skip "no MPI is here (.ci/deps install mpi)"
needs "$checked/mpi_same" "make CHECK=1 tests"

# Graphs and changes of division, once by threads, then by 2 and 4 processes; the first run compiles, the others find it.
reshards=$work/reshards
grep -v '^#' test/conform/reshard_xla.list | shuf -n "$(at 10 40 400)" --random-source=test/conform/reshard_xla.list >"$reshards"
same="$checked/mpi_same $work/record --seed $seed --count $(at 20 300 3000) --reshards $reshards"
$prefix $same || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_LOG_LEVEL=error
launch() { # MPI PROCESSES COMMAND...
  mpi=$1 processes=$2
  shift 2
  # A launcher reads standard input, which is not its own here.
  case $mpi in
  openmpi) set -- --oversubscribe --mca mpi_yield_when_idle 1 -n "$processes" "$@" ;;
  mpich) set -- -n "$processes" "$@" ;;
  esac
  VIEWFOLD_MPI=$PWD/$build/viewfold-mpi-$mpi.so $prefix timeout 1800 "mpirun.$mpi" "$@" </dev/null
}
for mpi in $found; do
  for processes in 2 4; do
    launch "$mpi" "$processes" $same || { echo "FAIL: $mpi, $processes processes"; exit 1; }
  done
done

$prefix "$python" -B test/campaign/mpi_failures.py "$build/viewfold" --seed "$seed" --count "$(at 1 5 50)" --seconds "$(at 20 20 2)"
