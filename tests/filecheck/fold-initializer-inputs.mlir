// RUN: ge-opt --fold-initializer-inputs --verify-each %s | filecheck %s
// RUN: ge-opt --constant-folding --prune %s | filecheck %s --check-prefix=KEPT

// A default that nobody can give any more is a constant, under its name.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32>
// CHECK-NEXT:    %w = ge.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> onnx ["w"]
// CHECK-NEXT:    ge.add %x, %w

// Other passes leave it alone: a caller may give another value.
// KEPT: func.func @main(%w: tensor<4xf32> {onnx.name = "w", ge.default =
// KEPT: ge.add %x, %w
func.func @main(
  %w: tensor<4xf32> {onnx.name = "w", ge.default = [dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>, tensor<4xf32>]},
  %x: tensor<4xf32> {onnx.name = "x"}
) -> tensor<4xf32> attributes {onnx.inputs = ["w", "x"]} {
  %0 = ge.add %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
