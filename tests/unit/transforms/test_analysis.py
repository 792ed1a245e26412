"""What the analysis keeps with an op holds for as long as the op and what it reads are as they were."""

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, Builtin, DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from gecc.dialects.ge import Ge
from gecc.transforms.shape.analysis import Dims

TEXT = """
builtin.module {
  func.func @main(%x: tensor<?x4x8xf32> {ge.dims = ["N", 4 : i64, 8 : i64]}) -> tensor<?x?x?xf32> {
    %y = ge.transpose %x perm [0, 2, 1] : tensor<?x4x8xf32> -> tensor<?x?x?xf32>
    %z = ge.relu %y : tensor<?x?x?xf32> -> tensor<?x?x?xf32>
    func.return %z : tensor<?x?x?xf32>
  }
}
"""


def parsed():
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    module = Parser(context, TEXT).parse_module()
    function = module.body.block.first_op
    return function, *list(function.body.block.ops)[:2]


def shown(function, op):
    return [str(d) for d in Dims(function)(op.results[0]).dims]


def test_a_second_look_gives_the_same_infos():
    function, _, relu = parsed()
    first, second = Dims(function)(relu.results[0]), Dims(function)(relu.results[0])
    assert shown(function, relu) == ["N", "8", "4"]
    assert first is second


def test_a_changed_property_is_seen_by_all_that_read_the_result():
    function, transpose, relu = parsed()
    shown(function, relu)
    transpose.properties["perm"] = DenseArrayBase.from_list(i64, [2, 1, 0])
    assert shown(function, relu) == ["8", "4", "N"]


def test_a_changed_operand_is_seen():
    function, _, relu = parsed()
    shown(function, relu)
    relu.operands[0] = function.body.block.args[0]
    assert shown(function, relu) == ["N", "4", "8"]


def test_another_name_of_a_dim_is_seen():
    function, _, relu = parsed()
    shown(function, relu)
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({"ge.dims": ArrayAttr([StringAttr("B")])})])
    assert shown(function, relu) == ["B", "8", "4"]
