"""A PyTensor graph of formulas as numexpr expressions, so that they need not be written again."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pytensor.graph.basic import Variable

LONGEST = 400
"""Characters of an expression from which it becomes an array of its own."""

FORMS = {
    "add": "+",
    "mul": "*",
    "sub": "-",
    "true_div": "/",
    "pow": "**",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
}
"""Operators between operands."""

PATTERNS = {
    "maximum": "where({0} > {1}, {0}, {1})",
    "minimum": "where({0} < {1}, {0}, {1})",
    "switch": "where({0}, {1}, {2})",
    "neg": "(-{0})",
    "sqr": "({0}**2)",
    "reciprocal": "(1.0/{0})",
    **{name: f"{name}({{0}})" for name in ("sqrt", "log", "expm1", "exp", "floor", "ceil")},
}
"""Functions of operands."""

SHAPES = ("DimShuffle", "ExpandDims")
"""Operations that only add axes of length one: every array has both axes already."""


class UnknownOperationError(TypeError):
    """An operation that has no expression yet."""


def evaluator(
    inputs: "Sequence[Variable[Any, Any]]", output: "Variable[Any, Any]"
) -> Callable[[Sequence[np.ndarray]], np.ndarray]:
    """A function of arrays that evaluates a graph of elementwise operations with numexpr.

    What is used more than once, and what would grow too long, becomes an array of its own.

    Raises
    ------
    UnknownOperationError
        If the graph holds an operation that has no expression here.
    """
    import numexpr
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import ancestors, io_toposort

    numexpr.set_num_threads(1)
    nodes = io_toposort([*inputs], [output])
    used = Counter(variable for node in nodes for variable in node.inputs)
    texts: dict[Any, str] = {variable: f"x{i}" for i, variable in enumerate(inputs)}
    known: dict[str, np.ndarray] = {}
    for variable in ancestors([output]):
        if isinstance(variable, Constant):
            value = np.asarray(variable.data, dtype=np.float64)
            if value.size == 1:
                texts[variable] = repr(float(value.reshape(())))
            else:
                texts[variable] = f"c{len(known)}"
                known[texts[variable]] = value
    steps: list[tuple[str, str]] = []
    for node in nodes:
        [result] = node.outputs
        text = _form(node.op, [texts[variable] for variable in node.inputs])
        plain = text in known or text in texts.values()
        if result is output or (not plain and (used[result] > 1 or len(text) > LONGEST)):
            name = f"t{len(steps)}"
            steps.append((name, text))
            text = name
        texts[result] = text
    first = [f"x{i}" for i in range(len(inputs))]

    def evaluate(arrays: Sequence[np.ndarray]) -> np.ndarray:
        values = {**known, **dict(zip(first, arrays, strict=True))}
        for name, text in steps:
            values[name] = numexpr.evaluate(text, local_dict=values, global_dict={})
        return np.asarray(values[steps[-1][0]])

    return evaluate


def _form(op: Any, parts: Sequence[str]) -> str:
    """One operation as text."""
    if type(op).__name__ in SHAPES:
        return parts[0]
    scalar = getattr(op, "scalar_op", None)
    name = str(getattr(scalar, "name", None) or type(scalar).__name__).lower()
    if type(scalar).__name__ == "Cast":
        return parts[0]
    if name in FORMS:
        return f"({FORMS[name].join(parts)})"
    if name not in PATTERNS:
        raise UnknownOperationError(str(op))
    return PATTERNS[name].format(*parts)
