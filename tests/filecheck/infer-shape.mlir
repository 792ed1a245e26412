// RUN: ge-opt --infer-shape --verify-each %s | filecheck %s

// What a shape operand says is in the types of all that follows.
// CHECK-LABEL: @a_constant_shape
// CHECK-SAME:  -> tensor<2x12xf32>
func.func @a_constant_shape(%x: tensor<6x4xf32>) -> tensor<?x?xf32> {
  %s = ge.constant dense<[2, -1]> : tensor<2xi64>
  // CHECK: ge.reshape {{.*}} -> tensor<2x12xf32>
  %0 = ge.reshape %x, %s : tensor<6x4xf32>, tensor<2xi64> -> tensor<?x?xf32>
  // CHECK: ge.exp {{.*}} -> tensor<2x12xf32>
  %1 = ge.exp %0 : tensor<?x?xf32> -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}

// Dims are expressions over symbols: 4 * N elements of rows of N are 4 rows, whatever N is. A free dim stays free.
// CHECK-LABEL: @symbols
// CHECK-SAME:  -> (tensor<4x?xf32>, tensor<?x2xf32>)
func.func @symbols(%x: tensor<?x4xf32> {ge.dims = ["N", 4]}, %y: tensor<2x?xf32> {ge.dims = [2, "N"]})
    -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %n = ge.shape %x start 0 end 1 : tensor<?x4xf32> -> tensor<1xi64>
  %m = ge.constant dense<[-1]> : tensor<1xi64>
  %s = ge.concat %m, %n axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %0 = ge.reshape %x, %s : tensor<?x4xf32>, tensor<2xi64> -> tensor<?x?xf32>
  %1 = ge.transpose %y perm [1, 0] : tensor<2x?xf32> -> tensor<?x?xf32>
  func.return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}

// A body's arguments and a fusion's results follow what goes in.
// CHECK-LABEL: @into_a_fusion_and_out
// CHECK:         ge.fusion "f" (%a = %x : tensor<8x4xf32>) -> (tensor<4x8xf32>)
// CHECK-NEXT:      ge.transpose %a perm [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
// CHECK:         func.return {{.*}} : tensor<4x8xf32>
func.func @into_a_fusion_and_out(%w: tensor<8x4xf32>) -> tensor<?x?xf32> {
  %x = ge.neg %w : tensor<8x4xf32> -> tensor<?x?xf32>
  %y = ge.fusion "f" (%a = %x : tensor<?x?xf32>) -> (tensor<?x?xf32>) {
    %0 = ge.transpose %a perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
    ge.yield %0 : tensor<?x?xf32>
  }
  func.return %y : tensor<?x?xf32>
}

// Branches: what they agree on is known; what only one of them says is not.
// CHECK-LABEL: @branches
// CHECK:         ge.if %c : tensor<i1> -> (tensor<4x?xf32>)
func.func @branches(%c: tensor<i1>, %x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<?x?xf32> {
  %0 = ge.if %c : tensor<i1> -> (tensor<?x?xf32>) {
    %1 = ge.exp %x : tensor<4x2xf32> -> tensor<?x?xf32>
    ge.yield %1 : tensor<?x?xf32>
  } else {
    ge.yield %y : tensor<4x3xf32>
  }
  func.return %0 : tensor<?x?xf32>
}

// A number in the text is a fact that inference does not take back, and what nobody knows stays free.
// CHECK-LABEL: @facts_stay
// CHECK:         ge.exp %x : tensor<?xf32> -> tensor<7xf32>
// CHECK:         ge.opaque "Pick" domain "acme" version 1 pure {{.*}} -> (tensor<1x?xi64>)
func.func @facts_stay(%x: tensor<?xf32>) -> (tensor<7xf32>, tensor<1x?xi64>) {
  %0 = ge.exp %x : tensor<?xf32> -> tensor<7xf32>
  %1 = ge.opaque "Pick" domain "acme" version 1 pure (%x) : (tensor<?xf32>) -> (tensor<1x?xi64>)
  func.return %0, %1 : tensor<7xf32>, tensor<1x?xi64>
}

// A branch for other sizes than these never runs: what it cannot do is nobody's mistake, and nobody looks at it again.
// CHECK-LABEL: @a_branch_that_never_runs
// CHECK:         ge.opaque "Squeeze" version {{[0-9]+}} pure ([[X:%.*]], {{%.*}}) : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<?xf32>) onnx "cut" ["z"]
// CHECK:       } else {
// CHECK-NEXT:    ge.identity [[X]] : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @a_branch_that_never_runs(%c: tensor<i1>, %x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = ge.identity %x : tensor<2x3xf32> -> tensor<2x?xf32>
  %axis = ge.constant dense<1> : tensor<1xi64>
  %1 = ge.if %c : tensor<i1> -> (tensor<*xf32>) {
    %2 = ge.squeeze %0, %axis : tensor<2x?xf32>, tensor<1xi64> -> tensor<?xf32> onnx "cut" ["z"]
    ge.yield %2 : tensor<?xf32>
  } else {
    %2 = ge.identity %0 : tensor<2x?xf32> -> tensor<2x?xf32>
    ge.yield %2 : tensor<2x?xf32>
  }
  func.return %1 : tensor<*xf32>
}
