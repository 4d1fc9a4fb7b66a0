"""A graph whose sizes are variables, as text without its header, and NumPy's function of its operands."""
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
    least: int = 1  # of every variable
    divisor: int = 1  # likewise
    power: int = 40  # of two, about the largest bound
    close: float = 0  # error allowed, relative and absolute; 0: bit-equal, but for f16
    below: int = 0  # positions %i lie in [0, below); 0: in the first operand


def row(name, inputs, body, function, **rest):
    return Row(name, inputs, body, function, **rest)
