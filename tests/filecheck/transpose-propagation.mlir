// RUN: ge-opt --transpose-propagation --prune --verify-each %s | filecheck %s

// Two meet their inverse behind a sum with a bias, which is transposed now: channels 0 .. 2 are last then.
// CHECK-LABEL: @cancelled
func.func @cancelled(%x: tensor<?x4x5x3xf32>, %y: tensor<?x4x5x3xf32>) -> tensor<?x4x5x3xf32> {
  // CHECK-NOT: ge.transpose
  // CHECK: ge.add %x, %y
  // CHECK: ge.constant dense<[{{\[\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x3xf32>
  // CHECK: ge.mul
  // CHECK-NOT: ge.transpose
  %k = ge.constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %a = ge.transpose %x perm [0, 3, 1, 2] : tensor<?x4x5x3xf32> -> tensor<?x3x4x5xf32>
  %b = ge.transpose %y perm [0, 3, 1, 2] : tensor<?x4x5x3xf32> -> tensor<?x3x4x5xf32>
  %c = ge.add %a, %b : tensor<?x3x4x5xf32>, tensor<?x3x4x5xf32> -> tensor<?x3x4x5xf32>
  %d = ge.mul %c, %k : tensor<?x3x4x5xf32>, tensor<3x1x1xf32> -> tensor<?x3x4x5xf32>
  %e = ge.transpose %d perm [0, 2, 3, 1] : tensor<?x3x4x5xf32> -> tensor<?x4x5x3xf32>
  func.return %e : tensor<?x4x5x3xf32>
}

// The axes 2 and 3 of the transposed are 1 and 2 of %x; what is left is in order.
// CHECK-LABEL: @reduced
func.func @reduced(%x: tensor<?x4x5x3xf32>) -> tensor<?x3xf32> {
  // CHECK-NEXT: %[[A:.*]] = ge.constant dense<[1, 2]>
  // CHECK-NEXT: ge.reduce_mean %x, %[[A]] keepdims 0
  %k = ge.constant dense<[2, 3]> : tensor<2xi64>
  %a = ge.transpose %x perm [0, 3, 1, 2] : tensor<?x4x5x3xf32> -> tensor<?x3x4x5xf32>
  %b = ge.reduce_mean %a, %k keepdims 0 : tensor<?x3x4x5xf32>, tensor<2xi64> -> tensor<?x3xf32>
  func.return %b : tensor<?x3xf32>
}

// Two joined by one.
// CHECK-LABEL: @joined
func.func @joined(%x: tensor<?x4x3xf32>, %y: tensor<?x4x2xf32>) -> tensor<?x5x4xf32> {
  // CHECK-NEXT: %[[J:.*]] = ge.concat %x, %y axis 2 : tensor<?x4x3xf32>, tensor<?x4x2xf32> -> tensor<?x4x5xf32>
  // CHECK-NEXT: ge.transpose %[[J]] perm [0, 2, 1]
  %a = ge.transpose %x perm [0, 2, 1] : tensor<?x4x3xf32> -> tensor<?x3x4xf32>
  %b = ge.transpose %y perm [0, 2, 1] : tensor<?x4x2xf32> -> tensor<?x2x4xf32>
  %c = ge.concat %a, %b axis 1 : tensor<?x3x4xf32>, tensor<?x2x4xf32> -> tensor<?x5x4xf32>
  func.return %c : tensor<?x5x4xf32>
}

// CHECK-LABEL: @over_a_reshape
func.func @over_a_reshape(%x: tensor<?x2x?x8xf32> {onnx.name = "x", ge.dims = ["T", 2 : i64, "N", 8 : i64]}) -> tensor<?x?x16xf32> {
  // CHECK-NEXT: %[[A:.*]] = ge.transpose %x perm [2, 0, 1, 3]
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<[0, 0, 16]>
  // CHECK-NEXT: ge.reshape %[[A]], %[[S]]
  %s = ge.constant dense<[0, 0, 16]> : tensor<3xi64>
  %a = ge.transpose %x perm [0, 2, 1, 3] : tensor<?x2x?x8xf32> -> tensor<?x?x2x8xf32>
  %b = ge.reshape %a, %s : tensor<?x?x2x8xf32>, tensor<3xi64> -> tensor<?x?x16xf32>
  %c = ge.transpose %b perm [1, 0, 2] : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  func.return %c : tensor<?x?x16xf32>
}

// It would only stand elsewhere.
// CHECK-LABEL: @no_gain
func.func @no_gain(%x: tensor<?x4x3xf32>) -> tensor<?x3x4xf32> {
  // CHECK-NEXT: ge.transpose
  // CHECK-NEXT: ge.relu
  %a = ge.transpose %x perm [0, 2, 1] : tensor<?x4x3xf32> -> tensor<?x3x4xf32>
  %b = ge.relu %a : tensor<?x3x4xf32> -> tensor<?x3x4xf32>
  func.return %b : tensor<?x3x4xf32>
}
