#!/bin/sh
# The conformance tests on PoCL's device: ONNX's node tests, NumPy, symbolic sizes, random writes, and JAX where Python has
# it. Except in a full soak only one operator of the first and one operation of the second.
. test/opencl/common.sh
. test/python.sh
needs_pocl
needs "$build/libviewfold.so.0" "make"
export VIEWFOLD_DEVICE=opencl
failed=0 ran=0
conform() { # NAME MODULE ARGUMENT...
  name=$1
  python=$(python_with "$2")
  shift 2
  [ -n "$python" ] || { echo "skip: $name"; return; }
  ran=$((ran + 1))
  $prefix "$python" -B "test/conform/$name.py" --build "$build" "$@" >"$work/log" 2>&1
  case $? in
  0) tail -n 1 "$work/log" ;;
  77) ran=$((ran - 1)) && tail -n 1 "$work/log" ;;
  *) failed=$((failed + 1)) && tail -n 60 "$work/log" ;;
  esac
}
if [ "$level" = full ]; then
  conform onnx_import onnx
  conform numpy_oracle numpy --seed "$seed" --count 15
  conform symbolic_sizes numpy --seed "$seed" --count 300
  # A program is a dozen kernels, on which PoCL's optimizer spends a second. Elsewhere it is at work.
  export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
  conform writes numpy --seed "$seed" --count 10000 --device opencl
  unset POCL_EXTRA_BUILD_FLAGS
  conform jax_compare jax --seed "$seed" --count 200
else
  conform onnx_import onnx --only softmax
  conform numpy_oracle numpy --seed "$seed" --only dot2 --count 4
  conform numpy_oracle numpy --seed "$seed" --only dot4 --count 4
  conform numpy_oracle numpy --seed "$seed" --only mod --count 4
  conform writes numpy --seed "$seed" --count 2 --device opencl
fi
echo "opencl conformance: $ran programs, $failed failed, seed $seed"
[ $failed = 0 ]
