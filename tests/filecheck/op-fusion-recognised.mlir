// RUN: ge-opt --op-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --op-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// CHECK-LABEL: @gelu
// CHECK: ge.fusion "Gelu"
func.func @gelu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %root = ge.constant dense<1.41421354> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %1 = ge.erf %0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %2 = ge.add %1, %one : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %3 = ge.mul %x, %2 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %4 = ge.mul %3, %half : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  func.return %4 : tensor<?x4xf32>
}

// A tree of elementwise ops, but no Gelu.
// CHECK-LABEL: @a_wrong_constant
// CHECK: ge.fusion "DivErfAddMulMul"
// REMARKS-DAG: node "last": {{.*}}"activation": the factor is 0.6666667, not 0.7071068
func.func @a_wrong_constant(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %root = ge.constant dense<1.5> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<f32>
  %half = ge.constant dense<0.5> : tensor<f32>
  %0 = ge.div %x, %root : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %1 = ge.erf %0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %2 = ge.add %1, %one : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %3 = ge.mul %x, %2 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %4 = ge.mul %3, %half : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32> onnx "last"
  func.return %4 : tensor<?x4xf32>
}

// Means over the last axis, with the product, the bias and the residual before them.
// CHECK-LABEL: @product_residual_and_normalisation
// CHECK: ge.fusion "MatMulAddAddLayerNormalization"
// CHECK-NOT: ge.fusion
func.func @product_residual_and_normalisation(%x: tensor<?x4xf32>, %r: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %b = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %axis = ge.constant dense<-1> : tensor<1xi64>
  %two = ge.constant dense<2.0> : tensor<f32>
  %small = ge.constant dense<1.0e-5> : tensor<f32>
  %0 = ge.matmul %x, %w : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
  %1 = ge.add %b, %0 : tensor<4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %2 = ge.add %1, %r : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %3 = ge.reduce_mean %2, %axis : tensor<?x4xf32>, tensor<1xi64> -> tensor<?x1xf32>
  %4 = ge.sub %2, %3 : tensor<?x4xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
  %5 = ge.pow %4, %two : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %6 = ge.reduce_mean %5, %axis : tensor<?x4xf32>, tensor<1xi64> -> tensor<?x1xf32>
  %7 = ge.add %6, %small : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %8 = ge.sqrt %7 : tensor<?x1xf32> -> tensor<?x1xf32>
  %9 = ge.div %4, %8 : tensor<?x4xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
  func.return %9 : tensor<?x4xf32>
}

// The normalisation goes down the columns.
// CHECK-LABEL: @a_wrong_axis
// CHECK-NOT: LayerNormalization
// REMARKS-DAG: ge.div not fused by {{.*}}: it does not go over the last axes
func.func @a_wrong_axis(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %axis = ge.constant dense<0> : tensor<1xi64>
  %0 = ge.reduce_mean %x, %axis : tensor<3x4xf32>, tensor<1xi64> -> tensor<1x4xf32>
  %1 = ge.sub %x, %0 : tensor<3x4xf32>, tensor<1x4xf32> -> tensor<3x4xf32>
  %2 = ge.mul %1, %1 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %3 = ge.reduce_mean %2, %axis : tensor<3x4xf32>, tensor<1xi64> -> tensor<1x4xf32>
  %4 = ge.sqrt %3 : tensor<1x4xf32> -> tensor<1x4xf32>
  %5 = ge.div %1, %4 : tensor<3x4xf32>, tensor<1x4xf32> -> tensor<3x4xf32>
  func.return %5 : tensor<3x4xf32>
}

// A name decides nothing: what is called FusedDense is left as it is, and a normalisation that computes its own
// statistics is no part of a convolution.
// CHECK-LABEL: @a_name_and_a_training_mode
// CHECK: ge.fusion "FusedDense"
// CHECK-NEXT: ge.sin
// CHECK-NEXT: ge.yield
// CHECK-NOT: ge.fusion
func.func @a_name_and_a_training_mode(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %s: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %0 = ge.fusion "FusedDense" (%a = %x : tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>) {
    %1 = ge.sin %a : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
    ge.yield %1 : tensor<1x2x4x4xf32>
  }
  %2 = ge.conv %0, %w : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %3, %4, %5 = ge.opaque "BatchNormalization" version 15 pure (%2, %s, %s, %s, %s) attrs {training_mode = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  func.return %3 : tensor<1x2x4x4xf32>
}
