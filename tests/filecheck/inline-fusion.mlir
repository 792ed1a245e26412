// RUN: ge-opt --inline-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --op-fusion --inline-fusion --verify-each %s | filecheck %s

// A group is opened down to its ops; what was written beside them is untouched.
// CHECK-LABEL: @group
func.func @group(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ge.exp %x {{.*}} onnx "a" ["p"]
  // CHECK-NEXT: %[[B:.*]] = ge.relu %[[A]]
  // CHECK-NEXT: %[[C:.*]] = ge.tanh %[[B]]
  // CHECK-NEXT: %[[D:.*]] = ge.add %[[C]], %[[A]]
  // CHECK-NEXT: func.return %[[A]], %[[D]]
  %0, %1 = ge.fusion "group" (%a = %x : tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %2 = ge.exp %a : tensor<2x4xf32> -> tensor<2x4xf32> onnx "a" ["p"]
    %3 = ge.fusion "inner" (%b = %2 : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
      %4 = ge.relu %b : tensor<2x4xf32> -> tensor<2x4xf32>
      %5 = ge.tanh %4 : tensor<2x4xf32> -> tensor<2x4xf32>
      ge.yield %5 : tensor<2x4xf32>
    }
    ge.yield %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>
  }
  %6 = ge.add %1, %0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %0, %6 : tensor<2x4xf32>, tensor<2x4xf32>
}

// Copies of a constant are one again; constants that were two stay two.
// CHECK-LABEL: @constants
// CHECK-COUNT-3: ge.constant
// CHECK-NOT: ge.constant
func.func @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ge.fusion "one" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = ge.constant dense<2.0> : tensor<f32> onnx ["two"]
    %2 = ge.mul %a, %1 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    ge.yield %2 : tensor<4xf32>
  }
  %3 = ge.fusion "two" (%a = %0 : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = ge.constant dense<2.0> : tensor<f32> onnx ["two"]
    %2 = ge.mul %a, %1 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    ge.yield %2 : tensor<4xf32>
  }
  %4 = ge.constant dense<3.0> : tensor<f32>
  %5 = ge.constant dense<3.0> : tensor<f32>
  %6 = ge.mul %3, %4 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %7 = ge.mul %3, %5 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  func.return %6, %7 : tensor<4xf32>, tensor<4xf32>
}

// Fusing and opening gives back what was there.
// CHECK-LABEL: @back
func.func @back(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK-NEXT: %conv = ge.conv %x, %w {{.*}} onnx "stem/Conv"
  // CHECK-NEXT: %y = ge.relu %conv
  // CHECK-NEXT: func.return %y
  %conv = ge.conv %x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32> onnx "stem/Conv"
  %y = ge.relu %conv : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32>
  func.return %y : tensor<1x4x6x6xf32>
}
