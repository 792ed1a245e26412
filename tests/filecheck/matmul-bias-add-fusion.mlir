// RUN: ge-opt --matmul-bias-add-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --matmul-bias-add-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// CHECK-LABEL: @matrices
func.func @matrices(%x: tensor<?x2xf32>, %w: tensor<2x3xf32>) -> tensor<?x3xf32> {
  // CHECK:      ge.gemm %x, %w, %b : {{.*}} onnx "bias" ["y"]
  // CHECK-NEXT: func.return
  %b = ge.constant dense<1.0> : tensor<3xf32>
  %0 = ge.matmul %x, %w : tensor<?x2xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
  %1 = ge.add %b, %0 : tensor<3xf32>, tensor<?x3xf32> -> tensor<?x3xf32> onnx "bias" ["y"]
  func.return %1 : tensor<?x3xf32>
}

// More rows than the product's, more axes, a product that is an output too, stacks of matrices.
// CHECK-LABEL: @left
// REMARKS: node "shared": ge.add no Gemm: something else reads the product
func.func @left(%x: tensor<1x2xf32>, %w: tensor<2x3xf32>, %y: tensor<4x1x2xf32>) -> (tensor<2x3xf32>, tensor<1x1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<4x1x3xf32>) {
  // CHECK-NOT: ge.gemm
  %rows = ge.constant dense<1.0> : tensor<2x3xf32>
  %axes = ge.constant dense<1.0> : tensor<1x1x3xf32>
  %b = ge.constant dense<1.0> : tensor<3xf32>
  %0 = ge.matmul %x, %w : tensor<1x2xf32>, tensor<2x3xf32> -> tensor<1x3xf32>
  %1 = ge.add %0, %rows : tensor<1x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = ge.matmul %x, %w : tensor<1x2xf32>, tensor<2x3xf32> -> tensor<1x3xf32>
  %3 = ge.add %2, %axes : tensor<1x3xf32>, tensor<1x1x3xf32> -> tensor<1x1x3xf32>
  %4 = ge.matmul %x, %w : tensor<1x2xf32>, tensor<2x3xf32> -> tensor<1x3xf32>
  %5 = ge.add %4, %b : tensor<1x3xf32>, tensor<3xf32> -> tensor<1x3xf32> onnx "shared"
  %6 = ge.matmul %y, %w : tensor<4x1x2xf32>, tensor<2x3xf32> -> tensor<4x1x3xf32>
  %7 = ge.add %6, %b : tensor<4x1x3xf32>, tensor<3xf32> -> tensor<4x1x3xf32>
  func.return %1, %3, %4, %5, %7 : tensor<2x3xf32>, tensor<1x1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<4x1x3xf32>
}
