// RUN: ge-opt --repeated-constant-folding --prune --verify-each %s | filecheck %s

// 4 MB that nobody writes out.
// CHECK-LABEL: @moved
func.func @moved() -> tensor<16x1024xf32> {
  // CHECK-NEXT: %[[A:.*]] = ge.constant #ge.splat<1.5> : tensor<16x1024xf32>
  // CHECK-NEXT: func.return %[[A]]
  %s = ge.constant dense<1024> : tensor<2xi64>
  %0 = ge.constant dense<0> : tensor<1xi64>
  %16 = ge.constant dense<16> : tensor<1xi64>
  %a = ge.constant_of_shape %s value dense<1.5> : tensor<1xf32> : tensor<2xi64> -> tensor<1024x1024xf32>
  %b = ge.transpose %a perm [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %c = ge.slice %b, %0, %16 : tensor<1024x1024xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<16x1024xf32>
  func.return %c : tensor<16x1024xf32>
}

// A free dim, two elements, arithmetic.
// CHECK-LABEL: @left_alone
func.func @left_alone(%s: tensor<1xi64>) -> (tensor<?xf32>, tensor<4x2xf32>, tensor<2xf32>) {
  // CHECK: ge.constant_of_shape
  // CHECK: ge.expand
  // CHECK: ge.exp
  %k = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = ge.constant dense<[4, 2]> : tensor<2xi64>
  %a = ge.constant_of_shape %s value dense<1.5> : tensor<1xf32> : tensor<1xi64> -> tensor<?xf32>
  %b = ge.expand %k, %n : tensor<2xf32>, tensor<2xi64> -> tensor<4x2xf32>
  %c = ge.exp %k : tensor<2xf32> -> tensor<2xf32>
  func.return %a, %b, %c : tensor<?xf32>, tensor<4x2xf32>, tensor<2xf32>
}
