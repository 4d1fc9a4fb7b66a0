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
$prefix "$python" -B test/campaign/mpi_same.py "$build/viewfold" --seed "$seed" --count "$(at 2 50 300)" || exit 1
$prefix "$python" -B test/campaign/mpi_failures.py "$build/viewfold" --seed "$seed" --count "$(at 1 5 50)" --seconds "$(at 20 20 2)"
