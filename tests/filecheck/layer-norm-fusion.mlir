// RUN: ge-opt --layer-norm-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --layer-norm-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// CHECK-LABEL: @as_exporters_write_it
func.func @as_exporters_write_it(%x: tensor<?x2x4xf32>, %s: tensor<4xf32>) -> tensor<?x2x4xf32> {
  // CHECK:      %[[B:.*]] = ge.constant #ge.splat<3.0> : tensor<4xf32>
  // CHECK-NEXT: ge.layer_normalization %x, %s, %[[B]] epsilon 0.001 {{.*}} ["y"]
  // CHECK-NEXT: func.return
  %axes = ge.constant dense<-1> : tensor<1xi64>
  %two = ge.constant dense<2.0> : tensor<f32>
  %eps = ge.constant dense<1.0e-3> : tensor<f32>
  %b = ge.constant dense<3.0> : tensor<1x1x1xf32>
  %0 = ge.reduce_mean %x, %axes : tensor<?x2x4xf32>, tensor<1xi64> -> tensor<?x2x1xf32>
  %1 = ge.sub %x, %0 : tensor<?x2x4xf32>, tensor<?x2x1xf32> -> tensor<?x2x4xf32>
  %2 = ge.pow %1, %two : tensor<?x2x4xf32>, tensor<f32> -> tensor<?x2x4xf32>
  %3 = ge.reduce_mean %2, %axes : tensor<?x2x4xf32>, tensor<1xi64> -> tensor<?x2x1xf32>
  %4 = ge.add %eps, %3 : tensor<f32>, tensor<?x2x1xf32> -> tensor<?x2x1xf32>
  %5 = ge.sqrt %4 : tensor<?x2x1xf32> -> tensor<?x2x1xf32>
  %6 = ge.div %1, %5 : tensor<?x2x4xf32>, tensor<?x2x1xf32> -> tensor<?x2x4xf32>
  %7 = ge.mul %s, %6 : tensor<4xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %8 = ge.add %7, %b : tensor<?x2x4xf32>, tensor<1x1x1xf32> -> tensor<?x2x4xf32> onnx "last" ["y"]
  func.return %8 : tensor<?x2x4xf32>
}

// Squares as a product, one over the root, two axes in another order; no scale. What is multiplied then has rows.
// CHECK-LABEL: @over_two_axes
func.func @over_two_axes(%x: tensor<3x2x4xf32>, %s: tensor<3x1x1xf32>) -> tensor<3x2x4xf32> {
  // CHECK:      %[[S:.*]] = ge.constant #ge.splat<1.0> : tensor<2x4xf32>
  // CHECK-NEXT: %[[N:.*]] = ge.layer_normalization %x, %[[S]] axis -2 epsilon 0.0
  // CHECK-NEXT: ge.mul %[[N]], %s
  %axes = ge.constant dense<[2, 1]> : tensor<2xi64>
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.reduce_mean %x, %axes : tensor<3x2x4xf32>, tensor<2xi64> -> tensor<3x1x1xf32>
  %1 = ge.sub %x, %0 : tensor<3x2x4xf32>, tensor<3x1x1xf32> -> tensor<3x2x4xf32>
  %2 = ge.mul %1, %1 : tensor<3x2x4xf32>, tensor<3x2x4xf32> -> tensor<3x2x4xf32>
  %3 = ge.reduce_mean %2, %axes : tensor<3x2x4xf32>, tensor<2xi64> -> tensor<3x1x1xf32>
  %4 = ge.sqrt %3 : tensor<3x1x1xf32> -> tensor<3x1x1xf32>
  %5 = ge.div %one, %4 : tensor<f32>, tensor<3x1x1xf32> -> tensor<3x1x1xf32>
  %6 = ge.mul %5, %1 : tensor<3x1x1xf32>, tensor<3x2x4xf32> -> tensor<3x2x4xf32>
  %7 = ge.mul %6, %s : tensor<3x2x4xf32>, tensor<3x1x1xf32> -> tensor<3x2x4xf32>
  func.return %7 : tensor<3x2x4xf32>
}

// The mean goes over columns, or over other axes than the squares' mean, or is an output.
// CHECK-LABEL: @left
// REMARKS: node "unlike": ge.div no LayerNormalization: what is squared is not less its own mean over the same axes
// REMARKS: node "shared": ge.div no LayerNormalization: something else reads what is in between
func.func @left(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>) {
  // CHECK-NOT: ge.layer_normalization
  %rows = ge.constant dense<0> : tensor<1xi64>
  %columns = ge.constant dense<1> : tensor<1xi64>
  %0 = ge.reduce_mean %x, %rows : tensor<4x4xf32>, tensor<1xi64> -> tensor<1x4xf32>
  %1 = ge.sub %x, %0 : tensor<4x4xf32>, tensor<1x4xf32> -> tensor<4x4xf32>
  %2 = ge.mul %1, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = ge.reduce_mean %2, %rows : tensor<4x4xf32>, tensor<1xi64> -> tensor<1x4xf32>
  %4 = ge.sqrt %3 : tensor<1x4xf32> -> tensor<1x4xf32>
  %5 = ge.div %1, %4 : tensor<4x4xf32>, tensor<1x4xf32> -> tensor<4x4xf32>

  %6 = ge.reduce_mean %2, %columns : tensor<4x4xf32>, tensor<1xi64> -> tensor<4x1xf32>
  %7 = ge.sqrt %6 : tensor<4x1xf32> -> tensor<4x1xf32>
  %8 = ge.div %1, %7 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32> onnx "unlike"

  %9 = ge.reduce_mean %x, %columns : tensor<4x4xf32>, tensor<1xi64> -> tensor<4x1xf32>
  %10 = ge.sub %x, %9 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %11 = ge.mul %10, %10 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %12 = ge.reduce_mean %11, %columns : tensor<4x4xf32>, tensor<1xi64> -> tensor<4x1xf32>
  %13 = ge.sqrt %12 : tensor<4x1xf32> -> tensor<4x1xf32>
  %14 = ge.div %10, %13 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32> onnx "shared"
  func.return %5, %8, %14, %9 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>
}
