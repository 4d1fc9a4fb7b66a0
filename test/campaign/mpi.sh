#!/bin/sh
# Meshes of processes that MPI has started: the same bytes as of threads; and processes that are killed or stopped.
. test/campaign/common.sh
needs "$build/viewfold" make
${PYTHON:-python3} -c 'import numpy' 2>/dev/null || skip "Python has no numpy"
found=
for i in openmpi mpich; do
  [ -e "$build/viewfold-mpi-$i.so" ] && command -v "mpirun.$i" >/dev/null && found="$found $i"
done
[ -n "$found" ] || skip "no MPI is here (.ci/deps install mpi)"
$prefix ${PYTHON:-python3} -B test/campaign/mpi_same.py "$build/viewfold" --seed "$seed" --count "$(at 2 50 300)" || exit 1
$prefix ${PYTHON:-python3} -B test/campaign/mpi_failures.py "$build/viewfold" --seed "$seed" --count "$(at 1 5 50)" --seconds "$(at 20 20 2)"
