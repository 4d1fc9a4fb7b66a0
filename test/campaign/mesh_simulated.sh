#!/bin/sh
# Meshes of up to 4,096 devices in virtual time, in any order of messages, and how steps scale.
. test/campaign/common.sh
needs "$checked/mesh_simulated" "make CHECK=1 tests"
$prefix "$checked/mesh_simulated" --devices 64 --orders "$(at 3 100 1000)" || exit 1
[ "$level" = test ] || $prefix "$checked/mesh_simulated" --devices 4096 --orders "$(at 0 1 10)" || exit 1
[ "$level" = test ] || $prefix "$checked/mesh_simulated" --devices 1 --scaling || exit 1
