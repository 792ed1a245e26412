// RUN: ge-opt --op-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --op-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS
// RUN: ge-opt --op-fusion --inline-fusion --verify-each %s | filecheck %s --check-prefix=INLINED

// Heads are cut out and moved, scores scaled and masked, the result put back: all one op. The projections stay outside.
// CHECK-LABEL: @attention
// INLINED-LABEL: @attention
// INLINED-NOT: ge.fusion
func.func @attention(%q: tensor<1x?x8xf32>, %k: tensor<1x?x8xf32>, %v: tensor<1x?x8xf32>, %mask: tensor<1x1x?x?xf32>, %w: tensor<8x8xf32>) -> tensor<1x?x8xf32> {
  // CHECK: %[[Q:.*]] = ge.matmul %q, %w
  // CHECK: ge.fusion "Attention" ({{.*}} = %[[Q]] : {{.*}}) -> (tensor<1x?x8xf32>) {
  // CHECK-COUNT-2: ge.matmul
  // CHECK: ge.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return
  %cut = ge.constant dense<[0, 0, 2, 4]> : tensor<4xi64>
  %back = ge.constant dense<[0, 0, 8]> : tensor<3xi64>
  %scale = ge.constant dense<2.0> : tensor<f32>
  %0 = ge.matmul %q, %w : tensor<1x?x8xf32>, tensor<8x8xf32> -> tensor<1x?x8xf32>
  %1 = ge.reshape %0, %cut : tensor<1x?x8xf32>, tensor<4xi64> -> tensor<1x?x2x4xf32>
  %2 = ge.transpose %1 perm [0, 2, 1, 3] : tensor<1x?x2x4xf32> -> tensor<1x2x?x4xf32>
  %3 = ge.reshape %k, %cut : tensor<1x?x8xf32>, tensor<4xi64> -> tensor<1x?x2x4xf32>
  %4 = ge.transpose %3 perm [0, 2, 3, 1] : tensor<1x?x2x4xf32> -> tensor<1x2x4x?xf32>
  %5 = ge.reshape %v, %cut : tensor<1x?x8xf32>, tensor<4xi64> -> tensor<1x?x2x4xf32>
  %6 = ge.transpose %5 perm [0, 2, 1, 3] : tensor<1x?x2x4xf32> -> tensor<1x2x?x4xf32>
  %7 = ge.matmul %2, %4 : tensor<1x2x?x4xf32>, tensor<1x2x4x?xf32> -> tensor<1x2x?x?xf32>
  %8 = ge.div %7, %scale : tensor<1x2x?x?xf32>, tensor<f32> -> tensor<1x2x?x?xf32>
  %9 = ge.add %8, %mask : tensor<1x2x?x?xf32>, tensor<1x1x?x?xf32> -> tensor<1x2x?x?xf32>
  %10 = ge.softmax %9 : tensor<1x2x?x?xf32> -> tensor<1x2x?x?xf32>
  %11 = ge.matmul %10, %6 : tensor<1x2x?x?xf32>, tensor<1x2x?x4xf32> -> tensor<1x2x?x4xf32>
  %12 = ge.transpose %11 perm [0, 2, 1, 3] : tensor<1x2x?x4xf32> -> tensor<1x?x2x4xf32>
  %13 = ge.reshape %12, %back : tensor<1x?x2x4xf32>, tensor<3xi64> -> tensor<1x?x8xf32>
  func.return %13 : tensor<1x?x8xf32>
}

// A mask of more batches than the scores have is no mask.
// CHECK-LABEL: @a_mask_that_broadcasts
// CHECK-NOT: "Attention"
// REMARKS-DAG: node "wide": {{.*}}"attention": the mask broadcasts the scores
func.func @a_mask_that_broadcasts(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x4x3xf32>, %v: tensor<1x2x3x4xf32>, %mask: tensor<5x1x3x3xf32>) -> tensor<5x2x3x4xf32> {
  %0 = ge.matmul %q, %k : tensor<1x2x3x4xf32>, tensor<1x2x4x3xf32> -> tensor<1x2x3x3xf32>
  %1 = ge.add %0, %mask : tensor<1x2x3x3xf32>, tensor<5x1x3x3xf32> -> tensor<5x2x3x3xf32>
  %2 = ge.softmax %1 : tensor<5x2x3x3xf32> -> tensor<5x2x3x3xf32>
  %3 = ge.matmul %2, %v : tensor<5x2x3x3xf32>, tensor<1x2x3x4xf32> -> tensor<5x2x3x4xf32> onnx "wide"
  func.return %3 : tensor<5x2x3x4xf32>
}

// What is attended to is a result too.
// CHECK-LABEL: @weights_are_a_result
// CHECK-NOT: "Attention"
// REMARKS-DAG: node "attended": {{.*}}"attention": the graph reads the result of "weights" too
func.func @weights_are_a_result(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x4x3xf32>, %v: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>) {
  %0 = ge.matmul %q, %k : tensor<1x2x3x4xf32>, tensor<1x2x4x3xf32> -> tensor<1x2x3x3xf32>
  %1 = ge.softmax %0 : tensor<1x2x3x3xf32> -> tensor<1x2x3x3xf32> onnx "weights"
  %2 = ge.matmul %1, %v : tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32> onnx "attended"
  func.return %2, %1 : tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>
}
