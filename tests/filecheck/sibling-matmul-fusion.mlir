// RUN: ge-opt --sibling-matmul-fusion --verify-each %s | filecheck %s

// Names of results go on.
// CHECK-LABEL: @with_biases
func.func @with_biases(%x: tensor<?x2xf32>) -> (tensor<?x1xf32>, tensor<?x3xf32>) {
  // CHECK-DAG:  %[[W:.*]] = ge.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00], [2.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00]]> : tensor<2x4xf32>
  // CHECK-DAG:  %[[B:.*]] = ge.constant dense<[4.000000e+00, 5.000000e+00, 5.000000e+00, 5.000000e+00]> : tensor<4xf32>
  // CHECK-DAG:  %[[N:.*]] = ge.constant dense<[1, 3]> : tensor<2xi64>
  // CHECK-DAG:  %[[P:.*]] = ge.matmul %x, %[[W]]
  // CHECK-DAG:  %[[A:.*]] = ge.add %[[P]], %[[B]]
  // CHECK:      ge.split %[[A]], %[[N]] axis 1 : {{.*}} onnx ["y", "z"]
  // CHECK-NEXT: func.return
  %v = ge.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %w = ge.constant dense<3.0> : tensor<2x3xf32>
  %a = ge.constant dense<4.0> : tensor<1xf32>
  %b = ge.constant dense<5.0> : tensor<1x3xf32>
  %0 = ge.matmul %x, %v : tensor<?x2xf32>, tensor<2x1xf32> -> tensor<?x1xf32>
  %1 = ge.add %0, %a : tensor<?x1xf32>, tensor<1xf32> -> tensor<?x1xf32> onnx ["y"]
  %2 = ge.matmul %x, %w : tensor<?x2xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
  %3 = ge.add %b, %2 : tensor<1x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32> onnx ["z"]
  func.return %1, %3 : tensor<?x1xf32>, tensor<?x3xf32>
}

// Two without a bias would be no fewer ops; a weight that is computed cannot be joined here.
// CHECK-LABEL: @left
func.func @left(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK-NOT: ge.split
  %v = ge.constant dense<1.0> : tensor<2x2xf32>
  %0 = ge.matmul %x, %v : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = ge.matmul %x, %v : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = ge.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
