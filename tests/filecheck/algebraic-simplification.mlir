// RUN: ge-opt --algebraic-simplification --verify-each %s | filecheck %s

// CHECK-LABEL: @neutral_operands
func.func @neutral_operands(%x: tensor<?x4xf32>, %b: tensor<4xi1>) -> (tensor<?x4xf32>, tensor<4xi1>) {
  // CHECK-NEXT: func.return %x, %b
  %one = ge.constant dense<1.0> : tensor<f32>
  %ones = ge.constant #ge.splat<1.0> : tensor<1x4xf32>
  %zero = ge.constant dense<0.0> : tensor<1xf32>
  %true = ge.constant dense<true> : tensor<i1>
  %0 = ge.mul %ones, %x : tensor<1x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %1 = ge.div %0, %one : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %2 = ge.sub %1, %zero : tensor<?x4xf32>, tensor<1xf32> -> tensor<?x4xf32>
  %3 = ge.pow %2, %one : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %4 = ge.and %true, %b : tensor<i1>, tensor<4xi1> -> tensor<4xi1>
  %5 = ge.equal %4, %true : tensor<4xi1>, tensor<i1> -> tensor<4xi1>
  func.return %3, %5 : tensor<?x4xf32>, tensor<4xi1>
}

// The result has another shape than %x, or may have: 1 and 4 rows both broadcast with four.
// CHECK-LABEL: @a_broadcast_stays
func.func @a_broadcast_stays(%x: tensor<1xf32>, %y: tensor<?xf32>) -> (tensor<4xf32>, tensor<1x1xf32>, tensor<4xf32>) {
  // CHECK: ge.mul %x, %ones
  // CHECK: ge.mul %x, %row
  // CHECK: ge.mul %y, %ones
  %ones = ge.constant #ge.splat<1.0> : tensor<4xf32>
  %row = ge.constant dense<1.0> : tensor<1x1xf32>
  %0 = ge.mul %x, %ones : tensor<1xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = ge.mul %x, %row : tensor<1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %2 = ge.mul %y, %ones : tensor<?xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<1x1xf32>, tensor<4xf32>
}

// -0 + 0 is 0. Adding -0 changes nothing; nor does 0 where a softmax reads the sum, or where there is no -0.
// CHECK-LABEL: @signed_zeros
func.func @signed_zeros(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      %[[SUM:.*]] = ge.add %x, %zero
  // CHECK-NEXT: %[[SOFT:.*]] = ge.softmax %x
  // CHECK-NEXT: %[[EXP:.*]] = ge.exp %x
  // CHECK-NEXT: func.return %[[SUM]], %x, %[[SOFT]], %[[EXP]]
  %zero = ge.constant dense<0.0> : tensor<f32>
  %minus = ge.constant dense<-0.0> : tensor<f32>
  %0 = ge.add %x, %zero : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = ge.add %minus, %x : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %2 = ge.add %x, %zero : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = ge.softmax %2 : tensor<4xf32> -> tensor<4xf32>
  %4 = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %5 = ge.add %4, %zero : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  func.return %0, %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @twice
func.func @twice(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[RELU:.*]] = ge.relu %x
  // CHECK-NEXT: %[[ROUND:.*]] = ge.round %x
  // CHECK-NEXT: func.return %x, %b, %[[RELU]], %[[ROUND]]
  %0 = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
  %1 = ge.neg %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = ge.not %b : tensor<4xi1> -> tensor<4xi1>
  %3 = ge.not %2 : tensor<4xi1> -> tensor<4xi1>
  %4 = ge.relu %1 : tensor<4xf32> -> tensor<4xf32>
  %5 = ge.relu %4 : tensor<4xf32> -> tensor<4xf32>
  %6 = ge.round %1 : tensor<4xf32> -> tensor<4xf32>
  %7 = ge.floor %6 : tensor<4xf32> -> tensor<4xf32>
  func.return %1, %3, %5, %7 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
}

// Twice is not once for a root.
// CHECK-LABEL: @not_idempotent
func.func @not_idempotent(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: ge.sqrt
  %0 = ge.sqrt %x : tensor<4xf32> -> tensor<4xf32>
  %1 = ge.sqrt %0 : tensor<4xf32> -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Integers wrap, so they associate; floats do not.
// CHECK-LABEL: @chains
func.func @chains(%i: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  // CHECK:      %[[C:.*]] = ge.sub %c4, %c3
  // CHECK-NEXT: ge.add %i, %[[C]]
  // CHECK-COUNT-2: ge.add %{{.*}} : tensor<4xf32>
  %c3 = ge.constant dense<3> : tensor<i32>
  %c4 = ge.constant dense<4> : tensor<i32>
  %0 = ge.sub %c3, %i : tensor<i32>, tensor<4xi32> -> tensor<4xi32>
  %1 = ge.sub %c4, %0 : tensor<i32>, tensor<4xi32> -> tensor<4xi32>
  %f = ge.constant dense<1.0e8> : tensor<f32>
  %2 = ge.add %x, %f : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = ge.add %2, %f : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  func.return %1, %3 : tensor<4xi32>, tensor<4xf32>
}

// NaN is neither less nor not less.
// CHECK-LABEL: @negations
func.func @negations(%i: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xf32>) {
  // CHECK-NEXT: ge.greater_or_equal %i, %i
  // CHECK-NEXT: %[[LESS:.*]] = ge.less %x, %x
  // CHECK-NEXT: ge.not %[[LESS]]
  // CHECK-NEXT: ge.sub %x, %x
  %0 = ge.less %i, %i : tensor<4xi32>, tensor<4xi32> -> tensor<4xi1>
  %1 = ge.not %0 : tensor<4xi1> -> tensor<4xi1>
  %2 = ge.less %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %3 = ge.not %2 : tensor<4xi1> -> tensor<4xi1>
  %4 = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
  %5 = ge.add %4, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %1, %3, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: @bounds
func.func @bounds(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      ge.max %x, %y, %six, %x
  // CHECK:      ge.clip %x, {{.*}}, {{.*}}
  // CHECK-NEXT: func.return
  %zero = ge.constant dense<0.0> : tensor<1xf32>
  %six = ge.constant dense<6.0> : tensor<1xf32>
  %0 = ge.max %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = ge.max %0, %six, %x : tensor<4xf32>, tensor<1xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = ge.max %x, %zero : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
  %3 = ge.min %2, %six : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
  %4 = ge.relu %3 : tensor<4xf32> -> tensor<4xf32>
  func.return %1, %4 : tensor<4xf32>, tensor<4xf32>
}
