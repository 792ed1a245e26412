// RUN: ge-opt --common-subexpression-elimination --verify-each %s | filecheck %s

// Names say where an op came from, not what it does; a + b is b + a.
// CHECK-LABEL: @named
func.func @named(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_1" ["a"]
  // CHECK-NEXT: %c = ge.add %a, %y
  // CHECK-NEXT: func.return %c, %c
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_1" ["a"]
  %b = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_2" ["b"]
  %c = ge.add %a, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = ge.add %y, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// An attribute that is given as its default is the default; another value is another op, and so is another operand.
// CHECK-LABEL: @attributes
func.func @attributes(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %a = ge.leaky_relu %x :
  // CHECK-NEXT: %c = ge.leaky_relu %x alpha 0.02
  // CHECK-NEXT: %d = ge.sub %x, %y
  // CHECK-NEXT: %e = ge.sub %y, %x
  // CHECK-NEXT: %f = ge.sub %x, %x
  // CHECK-NEXT: func.return %a, %a, %c, %d, %e, %f
  %a = ge.leaky_relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.leaky_relu %x alpha 0.01 : tensor<4x4xf32> -> tensor<4x4xf32>
  %c = ge.leaky_relu %x alpha 0.02 : tensor<4x4xf32> -> tensor<4x4xf32>
  %d = ge.sub %x, %y : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %e = ge.sub %y, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %f = ge.sub %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %a, %b, %c, %d, %e, %f : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Equal bytes of another type, or zero and minus zero, are not equal; two NaNs of the same bits are.
// CHECK-LABEL: @constants
func.func @constants() -> (tensor<9xf32>, tensor<9xf32>, tensor<9xi32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {
  // CHECK-NEXT: %a = ge.constant #ge.splat<0.0> : tensor<9xf32>
  // CHECK-NEXT: %b = ge.constant #ge.splat<"00000080"> : tensor<9xf32>
  // CHECK-NEXT: %c = ge.constant #ge.splat<0> : tensor<9xi32>
  // CHECK-NEXT: %d = ge.constant #ge.splat<"0100C07F">
  // CHECK-NEXT: %e = ge.constant #ge.splat<"0200C07F">
  // CHECK-NEXT: func.return %a, %b, %c, %d, %e, %d
  %a = ge.constant #ge.splat<0.0> : tensor<9xf32>
  %b = ge.constant #ge.splat<"00000080"> : tensor<9xf32>
  %c = ge.constant #ge.splat<0> : tensor<9xi32>
  %d = ge.constant #ge.splat<"0100C07F"> : tensor<9xf32>
  %e = ge.constant #ge.splat<"0200C07F"> : tensor<9xf32>
  %f = ge.constant #ge.splat<"0100C07F"> : tensor<9xf32>
  func.return %a, %b, %c, %d, %e, %f : tensor<9xf32>, tensor<9xf32>, tensor<9xi32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
}

// Results of several, and types that say more or less: those stay apart.
// CHECK-LABEL: @results_and_types
func.func @results_and_types(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>) {
  // CHECK-NEXT: %0, %1 = ge.split %x
  // CHECK-NEXT: ge.exp %x : tensor<?xf32> -> tensor<4xf32>
  // CHECK-NEXT: ge.exp %x : tensor<?xf32> -> tensor<?xf32>
  // CHECK-NEXT: func.return %0, %1
  %0, %1 = ge.split %x : tensor<?xf32> -> tensor<?xf32>, tensor<?xf32>
  %2, %3 = ge.split %x : tensor<?xf32> -> tensor<?xf32>, tensor<?xf32>
  %4 = ge.exp %x : tensor<?xf32> -> tensor<4xf32>
  %5 = ge.exp %x : tensor<?xf32> -> tensor<?xf32>
  func.return %0, %3, %4, %5 : tensor<?xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>
}

// Branches see what is merged around them, not what is in each other. A fusion sees nothing of what is around it.
// CHECK-LABEL: @bodies
func.func @bodies(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a = ge.exp %x
  // CHECK-NEXT: %y = ge.if
  // CHECK-NEXT:   ge.neg %x
  // CHECK-NEXT:   ge.add %a,
  // CHECK-NEXT:   ge.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   ge.neg %x
  // CHECK-NEXT:   ge.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: ge.neg %x
  // CHECK-NEXT: ge.fusion
  // CHECK-NEXT:   ge.exp %{{.*}}
  // CHECK-NEXT:   ge.yield
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
    %b = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
    %n = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
    %0 = ge.add %b, %n : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ge.yield %0 : tensor<4xf32>
  } else {
    %n = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
    ge.yield %n : tensor<4xf32>
  }
  %n = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
  %z = ge.fusion "f" (%i = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %b = ge.exp %i : tensor<4xf32> -> tensor<4xf32>
    %d = ge.exp %i : tensor<4xf32> -> tensor<4xf32>
    ge.yield %d : tensor<4xf32>
  }
  func.return %y, %n, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What may give something else each time is not merged.
// CHECK-LABEL: @random
// CHECK-COUNT-2: ge.opaque "RandomNormalLike"
// CHECK:         ge.opaque "NonZero"
// CHECK-NOT:     ge.opaque "NonZero"
func.func @random(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<1x?xi64>, tensor<1x?xi64>) {
  %0 = ge.opaque "RandomNormalLike" version 13 (%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  %1 = ge.opaque "RandomNormalLike" version 13 (%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  %2 = ge.opaque "NonZero" version 13 pure (%x) : (tensor<4xf32>) -> (tensor<1x?xi64>)
  %3 = ge.opaque "NonZero" version 13 pure (%x) : (tensor<4xf32>) -> (tensor<1x?xi64>)
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<1x?xi64>, tensor<1x?xi64>
}
