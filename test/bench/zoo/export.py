#!/usr/bin/env python3
"""Writes a model as ONNX with its inputs as .npy files: export.py FOLDER NAME ..."""
import os
import sys
import warnings

import numpy as np

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]

OPSET, NEWER = 17, 18  # what the exporter by tracing writes; and that by torch.export, for models that cannot be traced


def export(folder, name):
    import torch

    from zoo.models import made

    path = os.path.join(folder, name + ".onnx")
    if os.path.exists(path):
        return
    module, given = made(name)
    operands, names = tuple(given.values()), list(given)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(module, operands, path, input_names=names, opset_version=OPSET, dynamo=False)
        except Exception:  # whatever tracing meets
            torch.onnx.export(module, operands, path, input_names=names, opset_version=NEWER, dynamo=True)
    for key, value in given.items():
        np.save(os.path.join(folder, f"{name}.{key}.npy"), value.numpy())


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        export(sys.argv[1], wanted)
