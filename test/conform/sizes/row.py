"""A graph whose sizes are variables, as text without its header, and NumPy's function of its inputs."""
import dataclasses
import typing


@dataclasses.dataclass
class Row:
    name: str
    inputs: str  # "x:f32[n,3] i:i64[m]": n, m, k are variables, and other letters numbers
    body: str  # statements, one a line; the last is an operation, or names after `return`
    function: typing.Callable  # of arrays and, if it asks for one, `size`, a dictionary: an array, or a tuple
    least: int = 1  # of every variable
    divisor: int = 1
    close: float = 0  # relative error allowed; 0: bit-equal
    below: int = 0  # elements of integers that are positions lie in [0, below), or below the first size


def row(name, inputs, body, function, **rest):
    return Row(name, inputs, body, function, **rest)
