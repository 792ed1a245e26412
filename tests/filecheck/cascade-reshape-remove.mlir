// RUN: ge-opt --cascade-reshape-remove --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @unsqueezes
func.func @unsqueezes(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]}) -> tensor<1x?x1x?xf32> {
  // CHECK-NEXT: %[[A:.*]] = ge.constant dense<[0, 2]>
  // CHECK-NEXT: ge.unsqueeze %x, %[[A]] : tensor<?x?xf32>, tensor<2xi64> -> tensor<1x?x1x?xf32>
  %1 = ge.constant dense<1> : tensor<1xi64>
  %0 = ge.constant dense<0> : tensor<1xi64>
  %a = ge.unsqueeze %x, %1 : tensor<?x?xf32>, tensor<1xi64> -> tensor<?x1x?xf32>
  %b = ge.unsqueeze %a, %0 : tensor<?x1x?xf32>, tensor<1xi64> -> tensor<1x?x1x?xf32>
  func.return %b : tensor<1x?x1x?xf32>
}

// CHECK-LABEL: @flat_between
func.func @flat_between(%x: tensor<?x8x4xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64, 4 : i64]}) -> tensor<?x4x8xf32> {
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<[0, 4, 8]>
  // CHECK-NEXT: ge.reshape %x, %[[S]]
  %s = ge.constant dense<[-1, 4, 8]> : tensor<3xi64>
  %a = ge.flatten %x : tensor<?x8x4xf32> -> tensor<?x32xf32>
  %b = ge.reshape %a, %s : tensor<?x32xf32>, tensor<3xi64> -> tensor<?x4x8xf32>
  func.return %b : tensor<?x4x8xf32>
}

// There and back: nothing is left.
// CHECK-LABEL: @back
func.func @back(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]}) -> tensor<?x?xf32> {
  // CHECK-NEXT: func.return %x
  %1 = ge.constant dense<1> : tensor<1xi64>
  %a = ge.unsqueeze %x, %1 : tensor<?x?xf32>, tensor<1xi64> -> tensor<?x1x?xf32>
  %b = ge.squeeze %a, %1 : tensor<?x1x?xf32>, tensor<1xi64> -> tensor<?x?xf32>
  func.return %b : tensor<?x?xf32>
}

// 0 would copy S from the inner view and 8 from %x: no number is right for every size.
// CHECK-LABEL: @copies_of_another
func.func @copies_of_another(%x: tensor<?x8x?xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64, "S"]}, %y: tensor<?x?xf32> {onnx.name = "y", ge.dims = ["S", "N"]}) -> tensor<?x?x4x2xf32> {
  // CHECK: ge.reshape %x
  // CHECK: ge.reshape
  %k = ge.constant dense<8> : tensor<1xi64>
  %s = ge.shape %y : tensor<?x?xf32> -> tensor<2xi64>
  %c = ge.concat %s, %k axis 0 : tensor<2xi64>, tensor<1xi64> -> tensor<3xi64>
  %a = ge.reshape %x, %c : tensor<?x8x?xf32>, tensor<3xi64> -> tensor<?x?x8xf32>
  %h = ge.constant dense<[0, 0, 4, 2]> : tensor<4xi64>
  %b = ge.reshape %a, %h : tensor<?x?x8xf32>, tensor<4xi64> -> tensor<?x?x4x2xf32>
  func.return %b : tensor<?x?x4x2xf32>
}
