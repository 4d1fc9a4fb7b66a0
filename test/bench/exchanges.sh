#!/bin/sh
# An all_reduce of 64 bytes and one of 16 MiB between two devices: threads, then processes of each MPI that is here, in
# turns with MPI_Allreduce. Run it where nothing else computes.
set -e
build=${BUILD:-build} out=${BUILD:-build}/bench
mkdir -p "$out"
compile() { # COMPILER NAME OPTIONS...
  compiler=$1 name=$2
  shift 2
  "$compiler" -O2 "$@" -Ifrontend test/bench/exchanges.c "$build/libviewfold.so.0" "-Wl,-rpath,$PWD/$build" -o "$out/exchanges_$name"
}
compile "${CC:-cc}" threads
echo threads:
"$out/exchanges_threads"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_LOG_LEVEL=fatal
for mpi in openmpi mpich; do
  command -v "mpicc.$mpi" >/dev/null || continue
  compile "mpicc.$mpi" "$mpi" -DWITH_MPI
  echo "$mpi:"
  case $mpi in
  openmpi) mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 2 "$out/exchanges_openmpi" ;;
  mpich) mpirun.mpich -n 2 "$out/exchanges_mpich" ;;
  esac
done
