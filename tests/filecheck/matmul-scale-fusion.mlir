// RUN: ge-opt --matmul-scale-fusion --verify-each %s | filecheck %s

// CHECK-LABEL: @scores
func.func @scores(%x: tensor<?x2x4xf32>, %k: tensor<?x2x2x2xf32>) -> tensor<?x2x2x2xf32> {
  // CHECK-DAG:  %[[W:.*]] = ge.constant #ge.splat<0.5> : tensor<4x4xf32>
  // CHECK-DAG:  %[[B:.*]] = ge.constant #ge.splat<1.0> : tensor<4xf32>
  // CHECK:      %[[P:.*]] = ge.matmul %x, %[[W]] {{.*}} onnx "product"
  // CHECK-NEXT: %[[Q:.*]] = ge.add %[[P]], %[[B]]
  // CHECK-NEXT: %[[R:.*]] = ge.reshape %[[Q]], %shape
  // CHECK-NEXT: %[[T:.*]] = ge.transpose %[[R]] perm [0, 2, 1, 3]
  // CHECK-NEXT: %[[S:.*]] = ge.matmul %[[T]], %k {{.*}} onnx "scores" ["y"]
  // CHECK-NEXT: func.return %[[S]]
  %w = ge.constant #ge.splat<1.0> : tensor<4x4xf32>
  %b = ge.constant #ge.splat<2.0> : tensor<4xf32>
  %shape = ge.constant dense<[0, 2, 2, 2]> : tensor<4xi64>
  %two = ge.constant dense<2.0> : tensor<1xf32>
  %0 = ge.matmul %x, %w : tensor<?x2x4xf32>, tensor<4x4xf32> -> tensor<?x2x4xf32> onnx "product"
  %1 = ge.add %0, %b : tensor<?x2x4xf32>, tensor<4xf32> -> tensor<?x2x4xf32>
  %2 = ge.reshape %1, %shape : tensor<?x2x4xf32>, tensor<4xi64> -> tensor<?x2x2x2xf32>
  %3 = ge.transpose %2 perm [0, 2, 1, 3] : tensor<?x2x2x2xf32> -> tensor<?x2x2x2xf32>
  %4 = ge.matmul %3, %k : tensor<?x2x2x2xf32>, tensor<?x2x2x2xf32> -> tensor<?x2x2x2xf32> onnx "scores" ["s"]
  %5 = ge.div %4, %two : tensor<?x2x2x2xf32>, tensor<1xf32> -> tensor<?x2x2x2xf32> onnx "scale" ["y"]
  func.return %5 : tensor<?x2x2x2xf32>
}

// A Relu is not linear, a sum that somebody else reads would change, 1e-20 could leave the range of what is between.
// CHECK-LABEL: @left
func.func @left(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK-COUNT-3: ge.mul
  %w = ge.constant #ge.splat<1.0> : tensor<2x2xf32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %tiny = ge.constant dense<1.0e-20> : tensor<f32>
  %0 = ge.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = ge.relu %0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = ge.mul %1, %half : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %3 = ge.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %4 = ge.mul %3, %half : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %5 = ge.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %6 = ge.mul %5, %tiny : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  func.return %2, %3, %4, %6 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
