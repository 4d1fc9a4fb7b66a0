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

# With a cache that has nothing so far, the first process compiles, and no other does.
cat >"$work/cold.vf" <<'END'
mesh @m [x=2,y=2]
graph @cold(%h: f32[4,4] @m[x,-]) {
  %w = iota shape=[4,8] axis=1 dtype=f32
  %s = matmul %h, %w
  %a = relu %s
  %q = sum %a axes=[0]
  return %q
}
END
for mpi in $found; do
  set -- "$build/viewfold" run "$work/cold.vf" --mesh x=2,y=2 --in 'h=[[1,2,3,4],[0,-1,2,0],[1,1,1,1],[5,-4,3,-2]]'
  said=$(VIEWFOLD_CACHE_DIR=$work/cold_$mpi launch "$mpi" 1 "$@" : -n 3 env VIEWFOLD_COMPILE=0 "$@")
  [ "$said" = 'q: f32[8] = [0.0, 17.0, 34.0, 51.0, 68.0, 85.0, 102.0, 119.0]' ] ||
    { echo "FAIL: $mpi: processes that do not compile: $said"; exit 1; }
done
echo "a cold cache: no process but the first compiles"

[ "$level" = test ] || $prefix "$python" -B test/campaign/mpi_hosts.py "$build/viewfold" $PWD/$same || exit 1

# Examples print and draw the same.
compile() { ${CC:-cc} -std=c99 -O1 -Ifrontend "docs/examples/$1.c" "$build/libviewfold.so.0" -Wl,-rpath,"$PWD/$build" -lm -o "$work/$1"; }
example() { # NAME COMMAND... : what it prints, and loss.svg
  name=$1
  shift
  rm -f "$work/loss.svg"
  "$@" >"$work/said" || { echo "FAIL: $*"; exit 1; }
  [ ! -e "$work/loss.svg" ] || mv "$work/loss.svg" "$work/$name.svg"
  mv "$work/said" "$work/$name.said"
}
same_as_threads() { # NAME
  cmp "$work/$1.said" "$work/threads.said" && { [ ! -e "$work/threads.svg" ] || cmp "$work/$1.svg" "$work/threads.svg"; } ||
    { echo "FAIL: an example on $1"; exit 1; }
}
export VIEWFOLD_THREADS=1
examples=$(at heat "heat digits_conv" "heat digits_conv")
for program in $examples; do
  compile "$program" || exit 1
  case $program in
  heat) arguments=8 more= ;;
  digits_conv) arguments="docs/examples/digits/digits.pgm $work/loss.svg 4" more=mpi ;;
  esac
  example threads "$work/$program" $arguments
  for mpi in $found; do
    numbers='2 4'
    [ "$level,$found" = 'test, openmpi mpich' ] && numbers=$(case $mpi in openmpi) echo 2 ;; *) echo 4 ;; esac)
    for processes in $numbers; do
      example "$mpi-$processes" launch "$mpi" "$processes" "$work/$program" $arguments $more
      same_as_threads "$mpi-$processes"
    done
  done
done
echo "$examples: the same on processes of$found as by threads"

$prefix "$python" -B test/campaign/mpi_files.py "$build/viewfold" --mib "$(at 16 256 1024)" || exit 1
$prefix "$python" -B test/campaign/mpi_failures.py "$build/viewfold" --seed "$seed" --count "$(at 1 5 50)" --seconds "$(at 20 20 2)"
