// RUN: ge-opt --dim1-transpose-to-squeeze --verify-each %s | filecheck %s

// CHECK-LABEL: @moves_a_one
func.func @moves_a_one(%x: tensor<?x1x8x4xf32> {onnx.name = "x", ge.dims = ["N", 1 : i64, 8 : i64, 4 : i64]}) -> tensor<?x8x1x4xf32> {
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<[0, 8, 1, 0]>
  // CHECK-NEXT: ge.reshape %x, %[[S]]
  %y = ge.transpose %x perm [0, 2, 1, 3] : tensor<?x1x8x4xf32> -> tensor<?x8x1x4xf32>
  func.return %y : tensor<?x8x1x4xf32>
}

// A free dim is not known to be 1.
// CHECK-LABEL: @moves_more
func.func @moves_more(%x: tensor<2x?x8x4xf32>) -> tensor<2x8x?x4xf32> {
  // CHECK-NEXT: ge.transpose
  %y = ge.transpose %x perm [0, 2, 1, 3] : tensor<2x?x8x4xf32> -> tensor<2x8x?x4xf32>
  func.return %y : tensor<2x8x?x4xf32>
}
