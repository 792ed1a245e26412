// RUN: ge-opt --remove-same-const --verify-each %s | filecheck %s

// CHECK-LABEL: @same
func.func @same() -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[A:.*]] = ge.constant dense<[1.000000e+00, 2.000000e+00]>
  // CHECK-NEXT: func.return %[[A]], %[[A]]
  %a = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// 0.0 and -0.0, one shape and another: equal numbers, other constants.
// CHECK-LABEL: @not_the_same
func.func @not_the_same() -> (tensor<2xf32>, tensor<2xf32>, tensor<2x1xf32>) {
  // CHECK-COUNT-3: ge.constant
  %a = ge.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %b = ge.constant dense<[-0.0, 1.0]> : tensor<2xf32>
  %c = ge.constant dense<[[0.0], [1.0]]> : tensor<2x1xf32>
  func.return %a, %b, %c : tensor<2xf32>, tensor<2xf32>, tensor<2x1xf32>
}
