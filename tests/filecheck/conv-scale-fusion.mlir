// RUN: ge-opt --conv-scale-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --conv-scale-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// w = 2 * 3, b = (1 * 3) + 4. The result keeps the name that readers of the graph know.
// CHECK-LABEL: @factor_and_addend
func.func @factor_and_addend(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK:      %[[B:.*]] = ge.constant dense<7.000000e+00> : tensor<1xf32>
  // CHECK:      ge.conv %x, %{{.*}}, %[[B]] {{.*}} onnx "c" ["y"]
  // CHECK-NEXT: func.return
  %w = ge.constant dense<2.0> : tensor<1x1x1x1xf32>
  %b = ge.constant dense<1.0> : tensor<1xf32>
  %s = ge.constant dense<3.0> : tensor<1x1x1xf32>
  %t = ge.constant dense<4.0> : tensor<f32>
  %0 = ge.conv %x, %w, %b : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32> -> tensor<1x1x4x4xf32> onnx "c" ["a"]
  %1 = ge.mul %s, %0 : tensor<1x1x1xf32>, tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32> onnx "m" ["b"]
  %2 = ge.add %1, %t : tensor<1x1x4x4xf32>, tensor<f32> -> tensor<1x1x4x4xf32> onnx "a" ["y"]
  func.return %2 : tensor<1x1x4x4xf32>
}

// A column of four rows is no channel; a product that is an output too has to stay.
// CHECK-LABEL: @left
// REMARKS: node "shared": ge.mul not folded into the weights: something else reads the product
func.func @left(%x: tensor<4x1x2xf32>) -> (tensor<4x1x2xf32>, tensor<4x1x2xf32>, tensor<4x1x2xf32>) {
  // CHECK-COUNT-2: ge.conv
  // CHECK-COUNT-2: ge.mul
  %w = ge.constant dense<2.0> : tensor<1x1x1xf32>
  %s = ge.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %0 = ge.conv %x, %w : tensor<4x1x2xf32>, tensor<1x1x1xf32> -> tensor<4x1x2xf32>
  %1 = ge.conv %x, %w : tensor<4x1x2xf32>, tensor<1x1x1xf32> -> tensor<4x1x2xf32>
  %2 = ge.mul %0, %s : tensor<4x1x2xf32>, tensor<4x1x1xf32> -> tensor<4x1x2xf32>
  %3 = ge.mul %1, %two : tensor<4x1x2xf32>, tensor<f32> -> tensor<4x1x2xf32> onnx "shared"
  func.return %1, %2, %3 : tensor<4x1x2xf32>, tensor<4x1x2xf32>, tensor<4x1x2xf32>
}
