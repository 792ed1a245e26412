// RUN: ge-opt --gemm-fusion --verify-each %s | filecheck %s

// CHECK-LABEL: @transposes_and_factors
func.func @transposes_and_factors(%x: tensor<2x?xf32>, %w: tensor<3x2xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  // CHECK:      ge.gemm %x, %w, %c alpha 2.0 transA 1 transB 1
  // CHECK-DAG:  %[[B:.*]] = ge.constant #ge.splat<6.0> : tensor<2x3xf32>
  // CHECK-DAG:  %[[C:.*]] = ge.constant #ge.splat<5.0> : tensor<3xf32>
  // CHECK:      ge.gemm %x, %[[B]], %[[C]] transA 1
  %c = ge.constant dense<1.0> : tensor<3xf32>
  %b = ge.constant #ge.splat<3.0> : tensor<2x3xf32>
  %0 = ge.transpose %x perm [1, 0] : tensor<2x?xf32> -> tensor<?x2xf32>
  %1 = ge.transpose %w : tensor<3x2xf32> -> tensor<2x3xf32>
  %2 = ge.gemm %0, %1, %c alpha 2.0 : tensor<?x2xf32>, tensor<2x3xf32>, tensor<3xf32> -> tensor<?x3xf32>
  %3 = ge.gemm %x, %b, %c alpha 2.0 beta 5.0 transA 1 : tensor<2x?xf32>, tensor<2x3xf32>, tensor<3xf32> -> tensor<?x3xf32>
  func.return %2, %3 : tensor<?x3xf32>, tensor<?x3xf32>
}

// A transpose that is an output too has to stay, so the Gemm can as well read it.
// CHECK-LABEL: @left
func.func @left(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK: %[[T:.*]] = ge.transpose
  // CHECK: ge.gemm %[[T]], %w :
  %0 = ge.transpose %x perm [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = ge.gemm %0, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
