#!/usr/bin/env python3
"""Writes the node tests of the installed package onnx as folders, as distributions have them.

  onnx_generate.py DIR

DIR receives a folder for each test: model.onnx, and test_data_set_N with input_M.pb and output_M.pb. Exit
status: 0, 1 when fewer tests than FEWEST came out, 2 when the package is too old.
"""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node

FEWEST = 1000  # a package that gives fewer is broken


def message(value, port):
    """The value as the message that files of test data hold."""
    if isinstance(value, onnx.TensorProto):
        return value
    kind = port.type.WhichOneof("value")
    if kind == "tensor_type":
        return numpy_helper.from_array(np.asarray(value), port.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, port.name)
    return numpy_helper.from_optional(value, port.name)


def write(path, proto):
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())


def write_case(folder, case):
    os.makedirs(folder, exist_ok=True)
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(data, exist_ok=True)
        for kind, ports, values in (("input", case.model.graph.input, inputs),
                                    ("output", case.model.graph.output, outputs)):
            for place, (port, value) in enumerate(zip(ports, values)):
                write(os.path.join(data, f"{kind}_{place}.pb"), message(value, port))
    write(os.path.join(folder, "model.onnx"), case.model)


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    np.random.seed(1)  # tests draw their data when they are collected
    try:
        cases = node.collect_testcases(None)
    except TypeError as error:
        print(f"onnx {onnx.__version__} generates tests otherwise: {error}")
        return 2
    for case in cases:
        write_case(os.path.join(sys.argv[1], case.name), case)
    print(f"onnx_generate: {len(cases)} tests of onnx {onnx.__version__}")
    return 0 if len(cases) >= FEWEST else 1


if __name__ == "__main__":
    sys.exit(main())
