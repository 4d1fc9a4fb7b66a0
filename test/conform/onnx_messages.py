#!/usr/bin/env python3
"""What the importer of ONNX models says of models that it refuses: onnx_messages.list, a model and the whole message.

  onnx_messages.py --build DIR [--only TEXT] [--update]

The list's head describes how models are written. All are imported in one context, which must import a model that is
right after each. --update writes what the library says into the list; read the difference. Exit status: 0, 1 after a
failure, 77 when it cannot run.
"""
import argparse
import os
import re
import sys
import tempfile

try:
    import onnx
    import onnx.parser
    from google.protobuf import text_format
except ImportError as missing:
    print(f"skip: {missing} (package python3-onnx)")
    sys.exit(77)

import binding
from onnx_import import importing_context

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_messages.list")
INPUT = re.compile(r"(seq|optional|)\s*\(?\s*(\w+(?:\[[^]]*\])?)\s*\)?\s+(\w+)$")
LEFT_OUT = "left_out"  # the parser takes no empty names
RIGHT = "18: float[2,n] x; y = Neg (x)"


def read_cases(path=PATH):
    """[line of the model, message], and the text between them as it stands, in order."""
    parts = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("  "):
                parts[-1][1] = line.strip()
            elif line and not line.startswith("#"):
                parts.append([line, None])
            else:
                parts.append(line)
    return parts


def statements_of(text):
    """Split at semicolons that are in no brackets."""
    depth, found = 0, [""]
    for letter in text:
        depth += (letter in "({[") - (letter in ")}]")
        if letter == ";" and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [s.strip() for s in found if s.strip()]


def model_text(opset, statements):
    """ONNX's text of a model, and what its inputs are beside tensors."""
    inputs, weights, nodes, kinds = [], [], [], {}
    for statement in statements:
        found = INPUT.match(statement)
        if found:
            kinds[found[3]] = found[1]
            inputs.append(f"{found[2]} {found[3]}")
        else:
            (weights if re.match(r"\w+\[", statement) else nodes).append(statement)
    last = re.match(r"\w+", nodes[-1])[0]
    return (f'<ir_version: 8, opset_import: ["": {opset}, "ai.onnx.preview.training": 1]> '
            f'g ({", ".join(inputs)}) => (float {last}) <{", ".join(weights)}> {{ {" ".join(nodes)} }}'), kinds


def wrap(port, kind):
    """A tensor's port as one of a sequence, or of an optional value, of such tensors."""
    element = onnx.TypeProto()
    element.CopyFrom(port.type)
    port.type.Clear()
    outer = port.type.sequence_type if kind == "seq" else port.type.optional_type
    outer.elem_type.CopyFrom(element)


def model_of(line):
    kind, _, text = line.partition(":")
    if kind == "proto":
        return text_format.Parse(text, onnx.ModelProto())
    if kind == "text":
        return onnx.parser.parse_model(text)
    scalars = re.findall(r"\[\] (\w+) =", text)  # the parser takes no initialisers of rank 0
    text, kinds = model_text(kind, statements_of(re.sub(r"\[\] (\w+ =)", r"[1] \1", text)))
    model = onnx.parser.parse_model(text)
    for weight in model.graph.initializer:
        if weight.name in scalars:
            del weight.dims[:]
    for port in model.graph.input:
        if kinds[port.name]:
            wrap(port, kinds[port.name])
    for node in model.graph.node:
        node.input[:] = ["" if name == LEFT_OUT else name for name in node.input]
    return model


def message_of(context, model):
    """None of a model that is imported."""
    with open("model.onnx", "wb") as file:
        file.write(model.SerializeToString())
    try:
        graph = context.must(context.c.vf_import_onnx, context.raw, b"model.onnx", None)
    except binding.Refused as why:
        return str(why)
    context.c.vf_graph_destroy(graph)
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--only", default="")
    options.add_argument("--update", action="store_true")
    options, _ = options.parse_known_args()
    context, parts, failed, tried = importing_context(os.path.abspath(options.build)), read_cases(), 0, 0
    right = model_of(RIGHT)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for case in (p for p in parts if isinstance(p, list) and options.only in p[0]):
            tried += 1
            said = message_of(context, model_of(case[0]))
            after = message_of(context, right)
            if said != case[1] or not said or after:
                failed += 1
                print(f"{case[0]}\n  says:     {said}\n  expected: {case[1]}" + (f"\n  then: {after}" if after else ""))
            case[1] = said
        os.chdir("/")
    if options.update:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write("".join(p + "\n" if isinstance(p, str) else f"{p[0]}\n  {p[1]}\n" for p in parts))
    print(f"onnx_messages: {tried - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
