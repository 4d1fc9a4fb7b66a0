"""An ONNX model as a graph, by `viewfold import`."""
import os
import re
import subprocess

from storing.text import parsed


def imported(command, path, folder, sizes=()):
    """The graph of the model; its weights stay in files in the folder."""
    name = os.path.splitext(os.path.basename(path))[0]
    text = os.path.join(folder, name + ".vf")
    subprocess.run([command, "import", path, "-o", text], check=True)
    with open(text, encoding="utf-8") as file:
        written = file.read()
    for size in sizes:  # NAME=VALUE: a variable of the graph becomes that number
        variable, _, value = size.partition("=")
        written = re.sub(rf"(?<![%\w]){variable}=\d+\.\.\d+(:\d+)?", value, written)
        written = re.sub(rf"(?<![%\w\"]){variable}(?![\w\"=])", value, written)
    return parsed(re.sub(r'file="(?!/)', f'file="{folder}/', written))
