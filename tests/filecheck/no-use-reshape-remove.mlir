// RUN: ge-opt --no-use-reshape-remove --verify-each %s | filecheck %s

// CHECK-LABEL: @own_dims
func.func @own_dims(%x: tensor<?x8xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64]}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: ge.reshape
  // CHECK-NOT: ge.flatten
  // CHECK: func.return %x, %x
  %s = ge.constant dense<[-1, 8]> : tensor<2xi64>
  %a = ge.reshape %x, %s : tensor<?x8xf32>, tensor<2xi64> -> tensor<?x8xf32>
  %b = ge.flatten %x : tensor<?x8xf32> -> tensor<?x8xf32>
  func.return %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
}

// One type, but other dims: N x S is not S x N.
// CHECK-LABEL: @other_dims
func.func @other_dims(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]}, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  // CHECK-NEXT: ge.reshape
  %a = ge.reshape %x, %s : tensor<?x?xf32>, tensor<2xi64> -> tensor<?x?xf32>
  func.return %a : tensor<?x?xf32>
}
