"""The `acme` dialect: one op. `Elementwise` answers all questions of a pass, tiles included, from `scalar`."""

from typing import Any, ClassVar

from xdsl.ir import Dialect

from gecc.dialects.ge.core import PureOp, ge_op
from gecc.dialects.ge.declare import OnnxName, operand, real, result
from gecc.dialects.ge.info import Info
from gecc.dialects.ge.interfaces import Elementwise


@ge_op
class SwishOp(PureOp, Elementwise):
    """
    x / (1 + exp(-alpha * x))

        %y = acme.swish %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: Ramachandran, Zoph and Le, arXiv:1710.05941. In files: acme::Swish, version 1.
    """

    name = "acme.swish"
    onnx = OnnxName("Swish", since=1, domain="acme")
    COST: ClassVar[int] = 14

    x = operand()
    alpha = real(1.0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        return x.like(x.dims)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] / (1 + m.exp(-self.alpha * x[0]))


ACME = Dialect("acme", [SwishOp])
