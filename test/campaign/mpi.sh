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
grep -v '^#' test/conform/reshard_xla.list | shuf -n "$(at 6 40 400)" --random-source=test/conform/reshard_xla.list >"$reshards"
same="$checked/mpi_same $work/record --seed $seed --count $(at 10 300 3000) --reshards $reshards"
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

# Which device is where, as the first process says it.
for mpi in $found; do
  said=$(launch "$mpi" 2 "$build/viewfold" explain --mesh "$work/cold.vf" | sed -n 's/ on host [^ ]*:/:/; /^process/p')
  [ "$said" = "$(printf 'process 0: devices 0 to 1\nprocess 1: devices 2 to 3')" ] ||
    { echo "FAIL: $mpi: which device is where: $said"; exit 1; }
done

# Processes of different kinds, and of different weights: a processor by LLVM or by C, and an OpenCL device. All floats are
# sums of a few powers of two, so that results are equal to the last bit.
cat >"$work/mix.vf" <<'END'
graph @mix(%x: f32[12,8], %w: f32[8,6], %i: i32[12]) {
  %s = matmul %x, %w
  %a = relu %s
  %t = permute %a order=[1,0]
  %u = shard %t to=[x,-]
  %g = gather %u, %i axis=1
  %c = cumsum %i axis=0
  %m = reduce_max %g axes=[0]
  %e = sum %x axes=[0]
  return %u, %g, %c, %m, %e
}
END
cat >"$work/data.vf" <<'END'
graph @data() {
  %a = iota shape=[12,8] axis=0 dtype=f32
  %b = iota shape=[12,8] axis=1 dtype=f32
  %d = sub %a, %b
  %x = mul %d, 0.25
  %w = iota shape=[8,6] axis=1 dtype=f32
  %j = iota shape=[12] axis=0 dtype=i32
  %i = sub 11, %j
  return %x, %w, %i
}
END
if "$build/viewfold" devices | grep -q '^opencl:0'; then
  "$build/viewfold" run "$work/data.vf" --out x="$work/x.npy" --out w="$work/w.npy" --out i="$work/i.npy" >/dev/null
  mix() { # MESH [COMMAND...]: the results, as they are printed
    mesh=$1
    shift
    { echo "mesh @m $mesh"; cat "$work/mix.vf"; } >"$work/mixed.vf"
    "$@" "$build/viewfold" run "$work/mixed.vf" --mesh "$mesh" --shard 'x=[x,-]' --shard 'i=[x]' \
      --in x="$work/x.npy" --in w="$work/w.npy" --in i="$work/i.npy"
  }
  want=$(mix '[x=2]')
  [ -n "$want" ] || { echo "FAIL: processes of different kinds: threads gave nothing"; exit 1; }
  for mpi in $found; do
    for mesh in '[x=2] devices=["cpu","opencl:0@1"]' '[x=3:1] devices=["opencl:0","cpu@1"]' \
      '[x=2:1:3:1] devices=["opencl:0","cpu","c@1","opencl:0@1"]'; do
      said=$(mix "$mesh" launch "$mpi" 2)
      [ "$said" = "$want" ] || { echo "FAIL: $mpi: $mesh gave $said, not $want"; exit 1; }
    done
  done
  echo "processes of different kinds: the same as threads"
else
  echo "processes of different kinds are not tried: there is no OpenCL device"
fi

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
$prefix "$python" -B test/campaign/mpi_failures.py "$build/viewfold" --seed "$seed" --count "$(at 1 5 50)" --seconds "$(at 10 20 2)"
