"""A graph with symbolic sizes, as text without its header, and NumPy's function of its operands."""
import dataclasses
import typing


@dataclasses.dataclass
class Row:
    name: str
    inputs: str  # "x:f32[n,3] i:i64[m]": n, m and k are variables
    body: str  # statements, one a line; the last is an operation, or `return` and names
    function: typing.Callable  # of the arrays and, if it takes one, `size`, a dictionary: an array, or a tuple
    functions: str = ""  # graphs that the body calls
    gradient: bool = False  # the function gives the result, a scalar, and its gradient by the first operand
    least: int = 1  # least value of every variable
    divisor: int = 1  # divisor of every variable
    power: int = 40  # of two: about the largest bound
    close: float = 0  # allowed error, relative and absolute; 0: bit-equal, except for f16
    below: int = 0  # indices %i lie in [0, below); 0: within the first operand's axis


def row(name, inputs, body, function, **rest):
    return Row(name, inputs, body, function, **rest)
