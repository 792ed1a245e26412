// RUN: ge-opt --broadcast-reduce-elimination --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @through_a_chain
func.func @through_a_chain(%x: tensor<1x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[E:.*]] = ge.exp %x : tensor<1x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: ge.add %[[E]], %z : tensor<1x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %s = ge.constant dense<[4, 8]> : tensor<2xi64>
  %a = ge.expand %x, %s : tensor<1x8xf32>, tensor<2xi64> -> tensor<4x8xf32>
  %e = ge.exp %a : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = ge.add %e, %z : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @own_dims
func.func @own_dims(%x: tensor<?x8xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64]}) -> tensor<?x8xf32> {
  // CHECK-NEXT: func.return %x
  %s = ge.shape %x : tensor<?x8xf32> -> tensor<2xi64>
  %a = ge.expand %x, %s : tensor<?x8xf32>, tensor<2xi64> -> tensor<?x8xf32>
  func.return %a : tensor<?x8xf32>
}

// One element repeated, as a constant and as many as %x has.
// CHECK-LABEL: @scalars
func.func @scalars(%x: tensor<?x8xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64]}) -> tensor<?x8xf32> {
  // CHECK-DAG: %[[A:.*]] = ge.constant {{.*}}2.5{{.*}} : tensor<f32>
  // CHECK-DAG: %[[B:.*]] = ge.constant {{.*}}1.5{{.*}} : tensor<f32>
  // CHECK: %[[Y:.*]] = ge.mul %x, %[[A]] : tensor<?x8xf32>, tensor<f32>
  // CHECK: ge.add %[[Y]], %[[B]] : tensor<?x8xf32>, tensor<f32>
  %a = ge.constant #ge.splat<2.5> : tensor<1x8xf32>
  %s = ge.shape %x : tensor<?x8xf32> -> tensor<2xi64>
  %b = ge.constant_of_shape %s value dense<1.5> : tensor<1xf32> : tensor<2xi64> -> tensor<?x8xf32>
  %y = ge.mul %x, %a : tensor<?x8xf32>, tensor<1x8xf32> -> tensor<?x8xf32>
  %z = ge.add %y, %b : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  func.return %z : tensor<?x8xf32>
}

// The graph's output needs the dims, a product of matrices reads them, and a Tile repeats in turn.
// CHECK-LABEL: @left_alone
func.func @left_alone(%x: tensor<1x8xf32>, %v: tensor<2x8xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x8xf32>) {
  // CHECK: ge.expand
  // CHECK: ge.expand
  // CHECK: ge.tile
  %s = ge.constant dense<[4, 8]> : tensor<2xi64>
  %w = ge.constant dense<[8, 4]> : tensor<2xi64>
  %r = ge.constant dense<[2, 1]> : tensor<2xi64>
  %a = ge.expand %x, %s : tensor<1x8xf32>, tensor<2xi64> -> tensor<4x8xf32>
  %y = ge.exp %a : tensor<4x8xf32> -> tensor<4x8xf32>
  %c = ge.constant dense<[[1.0], [2.0], [1.0], [2.0], [1.0], [2.0], [1.0], [2.0]]> : tensor<8x1xf32>
  %b = ge.expand %c, %w : tensor<8x1xf32>, tensor<2xi64> -> tensor<8x4xf32>
  %p = ge.matmul %z, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %t = ge.tile %v, %r : tensor<2x8xf32>, tensor<2xi64> -> tensor<4x8xf32>
  %q = ge.add %t, %z : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %y, %p, %q : tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x8xf32>
}
