"""What a proof about symbolic matrices is written with, beside SymPy's own MatrixSymbol, product and transpose.

P, A, V = MatrixSymbol("P", n, n), MatrixSymbol("A", n, n), MatrixSymbol("V", n, d)
line = P * softmax(A) * P.T * P * V
"""

from __future__ import annotations

from sympy import Transpose, sympify
from sympy.matrices.expressions import MatrixExpr


class softmax(MatrixExpr):
    """The softmax of each row of a matrix expression, as a symbol: (n, m) → (n, m). TypeError for anything else.

    Nothing is evaluated within it, so that a line keeps the form in which it was written.
    """

    def __new__(cls, matrix: MatrixExpr) -> softmax:
        matrix = sympify(matrix)
        if not isinstance(matrix, MatrixExpr):
            raise TypeError(f"softmax is of a matrix expression, not of a {type(matrix).__name__}: use MatrixSymbol.")
        return super().__new__(cls, matrix)

    @property
    def shape(self) -> tuple:
        """That of the matrix within."""
        return self.args[0].shape

    def doit(self, **hints: bool) -> softmax:
        """Itself."""
        return self

    def _eval_transpose(self) -> Transpose:
        return Transpose(self)
