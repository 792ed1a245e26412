// RUN: ge-opt --einsum-to-matmul --verify-each %s | filecheck %s
// RUN: ge-opt --einsum-to-matmul --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// CHECK-LABEL: @scores
func.func @scores(%q: tensor<?x2x?x4xf32>, %k: tensor<?x2x?x4xf32>) -> tensor<?x2x?x?xf32> {
  // CHECK-NEXT: %[[T:.*]] = ge.transpose %k perm [0, 1, 3, 2]
  // CHECK-NEXT: ge.matmul %q, %[[T]] : {{.*}} onnx "scores" ["s"]
  // CHECK-NEXT: func.return
  %0 = ge.einsum %q, %k equation "bhid,bhjd->bhij" : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32> -> tensor<?x2x?x?xf32> onnx "scores" ["s"]
  func.return %0 : tensor<?x2x?x?xf32>
}

// One row could be summed against four, which a product cannot; an outer product is none.
// CHECK-LABEL: @left
// REMARKS: node "free": ge.einsum stays: ij,jk->ik is no one product, sum or transpose
func.func @left(%a: tensor<3x?xf32>, %b: tensor<4x2xf32>, %v: tensor<3xf32>) -> (tensor<3x2xf32>, tensor<3x3xf32>) {
  // CHECK-COUNT-2: ge.einsum
  %0 = ge.einsum %a, %b equation "ij,jk->ik" : tensor<3x?xf32>, tensor<4x2xf32> -> tensor<3x2xf32> onnx "free"
  %1 = ge.einsum %v, %v equation "i,j->ij" : tensor<3xf32>, tensor<3xf32> -> tensor<3x3xf32>
  func.return %0, %1 : tensor<3x2xf32>, tensor<3x3xf32>
}
