// RUN: ge-opt --add-n --verify-each %s | filecheck %s

// CHECK-LABEL: @few
func.func @few(%x: tensor<4xf32>, %y: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ge.add %x, %y : {{.*}} onnx "two" ["s"]
  // CHECK-NEXT: %[[B:.*]] = ge.sum %x, %y, %y
  // CHECK-NEXT: func.return %x, %[[A]], %[[B]]
  %0 = ge.sum %x : tensor<4xf32> -> tensor<4xf32>
  %1 = ge.mean %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = ge.sum %x, %y : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32> onnx "two" ["s"]
  %3 = ge.sum %x, %y, %y : tensor<4xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<4xf32>
  func.return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What adds from the left adds in the same order; a sum on the right would not.
// CHECK-LABEL: @sums_of_sums
func.func @sums_of_sums(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      ge.sum %x, %x, %x, %x, %x
  // CHECK:      %[[S:.*]] = ge.sum %x, %x, %x
  // CHECK-NEXT: ge.sum %x, %x, %[[S]]
  %0 = ge.sum %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = ge.sum %0, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = ge.sum %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %3 = ge.sum %x, %x, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
