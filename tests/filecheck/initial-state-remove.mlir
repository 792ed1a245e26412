// RUN: ge-opt --initial-state-remove --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @zeros
func.func @zeros(%x: tensor<?x?x4xf32> {onnx.name = "x", ge.dims = ["T", "N", 4 : i64]}, %w: tensor<1x32x4xf32>, %r: tensor<1x32x8xf32>, %s: tensor<3xi64>) -> tensor<?x1x?x8xf32> {
  // CHECK-NEXT: ge.lstm %x, %w, %r hidden_size 8
  // CHECK-SAME: onnx "rnn" ["y"]
  %z = ge.constant_of_shape %s : tensor<3xi64> -> tensor<?x?x?xf32>
  %y = ge.lstm %x, %w, %r, none, none, %z, %z hidden_size 8 : tensor<?x?x4xf32>, tensor<1x32x4xf32>, tensor<1x32x8xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32> -> tensor<?x1x?x8xf32> onnx "rnn" ["y"]
  func.return %y : tensor<?x1x?x8xf32>
}

// -0.0 is another zero, and one state is given.
// CHECK-LABEL: @others
func.func @others(%x: tensor<?x?x4xf32>, %w: tensor<1x32x4xf32>, %r: tensor<1x32x8xf32>, %h: tensor<1x?x8xf32>, %s: tensor<3xi64>) -> tensor<?x1x?x8xf32> {
  // CHECK: ge.lstm %x, %w, %r, none, none, %h, %z
  %z = ge.constant_of_shape %s value dense<-0.0> : tensor<1xf32> : tensor<3xi64> -> tensor<?x?x?xf32>
  %y = ge.lstm %x, %w, %r, none, none, %h, %z hidden_size 8 : tensor<?x?x4xf32>, tensor<1x32x4xf32>, tensor<1x32x8xf32>, tensor<1x?x8xf32>, tensor<?x?x?xf32> -> tensor<?x1x?x8xf32>
  func.return %y : tensor<?x1x?x8xf32>
}
