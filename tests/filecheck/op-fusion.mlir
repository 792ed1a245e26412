// RUN: ge-opt --op-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --op-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS
// RUN: ge-opt --op-fusion="mode=aggressive" --verify-each %s | filecheck %s --check-prefix=AGGRESSIVE

// The weight and the bias stay outside; the ops keep their names.
// CHECK-LABEL: @convolution_and_activation
func.func @convolution_and_activation(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK-NEXT: %0 = ge.fusion "ConvRelu" (%{{.*}} = %x : tensor<1x3x8x8xf32>, %{{.*}} = %w : tensor<4x3x3x3xf32>, %{{.*}} = %b : tensor<4xf32>) -> (tensor<1x4x6x6xf32>) {
  // CHECK-NEXT:   ge.conv {{.*}} onnx "stem/Conv" ["c"]
  // CHECK-NEXT:   ge.relu {{.*}} onnx "stem/Relu" ["y"]
  // CHECK-NEXT:   ge.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %0
  %0 = ge.conv %x, %w, %b : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<1x4x6x6xf32> onnx "stem/Conv" ["c"]
  %1 = ge.relu %0 : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32> onnx "stem/Relu" ["y"]
  func.return %1 : tensor<1x4x6x6xf32>
}

// Scalars go inside, and what nothing reads any more goes.
// CHECK-LABEL: @bounds_go_inside
func.func @bounds_go_inside(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK-NEXT: ge.fusion "ConvClip" (%{{.*}} = %x : {{.*}}, %{{.*}} = %w : {{[^=]*}}) -> (tensor<1x4x6x6xf32>) {
  // CHECK-NEXT:   ge.conv
  // CHECK-NEXT:   ge.constant {{.*}} ["low"]
  // CHECK-NEXT:   ge.constant {{.*}} ["high"]
  // CHECK-NEXT:   ge.clip
  // CHECK-NEXT:   ge.yield
  %low = ge.constant dense<0.0> : tensor<f32> onnx ["low"]
  %high = ge.constant dense<6.0> : tensor<f32> onnx ["high"]
  %0 = ge.conv %x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  %1 = ge.clip %0, %low, %high : tensor<1x4x6x6xf32>, tensor<f32>, tensor<f32> -> tensor<1x4x6x6xf32>
  func.return %1 : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: @product_bias_activation
func.func @product_bias_activation(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  // CHECK-NEXT: %w = ge.constant
  // CHECK-NEXT: %b = ge.constant
  %w = ge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %b = ge.constant dense<[1.0, -1.0]> : tensor<2xf32>
  // CHECK-NEXT: ge.fusion "MatMulAddRelu" (%{{.*}} = %x : {{.*}}, %{{.*}} = %w : {{.*}}, %{{.*}} = %b : {{.*}}) -> (tensor<?x2xf32>) {
  // CHECK-NEXT:   ge.matmul
  // CHECK-NEXT:   ge.add
  // CHECK-NEXT:   ge.relu
  %0 = ge.matmul %x, %w : tensor<?x4xf32>, tensor<4x2xf32> -> tensor<?x2xf32>
  %1 = ge.add %0, %b : tensor<?x2xf32>, tensor<2xf32> -> tensor<?x2xf32>
  %2 = ge.relu %1 : tensor<?x2xf32> -> tensor<?x2xf32>
  // The bias may stand first, and there may be no activation.
  // CHECK: ge.fusion "MatMulAdd"
  // CHECK-NEXT: ge.matmul
  // CHECK-NEXT: ge.add %b
  %3 = ge.matmul %x, %w : tensor<?x4xf32>, tensor<4x2xf32> -> tensor<?x2xf32>
  %4 = ge.add %b, %3 : tensor<2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  // Gemm has a bias of its own.
  // CHECK: ge.fusion "GemmTanh"
  %5 = ge.gemm %x, %w, %b : tensor<?x4xf32>, tensor<4x2xf32>, tensor<2xf32> -> tensor<?x2xf32>
  %6 = ge.tanh %5 : tensor<?x2xf32> -> tensor<?x2xf32>
  func.return %2, %4, %6 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// A value in the middle that something else reads stays, unless the mode is aggressive: then it is one more result.
// CHECK-LABEL: @another_reader
// CHECK-NOT: ge.fusion
// REMARKS-DAG: node "c": {{.*}}"convolution": something else reads the result of "a" too
// AGGRESSIVE-LABEL: @another_reader
// AGGRESSIVE-NEXT: %[[INNER:.*]], %[[LAST:.*]] = ge.fusion "ConvRelu" {{.*}} -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
// AGGRESSIVE: }
// AGGRESSIVE-NEXT: %[[POOL:.*]] = ge.max_pool %[[INNER]]
// AGGRESSIVE-NEXT: func.return %[[POOL]], %[[LAST]]
func.func @another_reader(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %0 = ge.conv %x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32> onnx "a"
  %1 = ge.max_pool %0 kernel_shape [1, 1] : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32> onnx "b"
  %2 = ge.relu %0 : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32> onnx "c"
  func.return %1, %2 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}

// CHECK-LABEL: @a_result_of_the_graph
// CHECK-NOT: ge.fusion
// REMARKS-DAG: node "e": {{.*}}: the graph reads the result of "d" too
func.func @a_result_of_the_graph(%x: tensor<2x4xf32>, %w: tensor<4x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32> onnx "d"
  %1 = ge.relu %0 : tensor<2x2xf32> -> tensor<2x2xf32> onnx "e"
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A residual and a cast go with the product; an identity is nothing.
// CHECK-LABEL: @a_residual_and_a_cast
func.func @a_residual_and_a_cast(%x: tensor<2x4xf32>, %w: tensor<4x2xf32>, %r: tensor<2x2xf32>) -> (tensor<2x2xf16>, tensor<2x2xf32>) {
  // CHECK-NEXT: ge.fusion "MatMulAdd"
  // CHECK-NEXT: ge.matmul
  // CHECK-NEXT: ge.add
  // CHECK-NEXT: ge.cast
  // CHECK-NEXT: ge.yield
  %0 = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %1 = ge.add %0, %r : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = ge.cast %1 to f16 : tensor<2x2xf32> -> tensor<2x2xf16>
  %3 = ge.identity %x : tensor<2x4xf32> -> tensor<2x4xf32>
  // CHECK-NOT: ge.fusion
  %4 = ge.matmul %3, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %5 = ge.identity %4 : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %2, %5 : tensor<2x2xf16>, tensor<2x2xf32>
}

// What is fused already is left alone.
// CHECK-LABEL: @in_a_fusion
// CHECK: ge.fusion "mine"
// CHECK-NOT: ge.fusion
func.func @in_a_fusion(%x: tensor<2x4xf32>, %w: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %0 = ge.fusion "mine" (%a = %x : tensor<2x4xf32>, %b = %w : tensor<4x2xf32>) -> (tensor<2x2xf32>) {
    %1 = ge.matmul %a, %b : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
    %2 = ge.relu %1 : tensor<2x2xf32> -> tensor<2x2xf32>
    ge.yield %2 : tensor<2x2xf32>
  }
  func.return %0 : tensor<2x2xf32>
}
