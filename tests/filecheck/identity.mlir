// RUN: ge-opt --identity --verify-each %s | filecheck %s
// RUN: ge-opt --identity --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// The value keeps the name that a reader of the graph looks for.
// CHECK-LABEL: @handed_on
func.func @handed_on(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_1" ["y"]
  // CHECK-NEXT: func.return %a, %x
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_1" ["a"]
  %b = ge.identity %a : tensor<4xf32> -> tensor<4xf32> onnx "Identity_1" ["b"]
  %y = ge.identity %b : tensor<4xf32> -> tensor<4xf32> onnx "Identity_2" ["y"]
  %z = ge.identity %x : tensor<4xf32> -> tensor<4xf32> onnx "Identity_3" ["z"]
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// Dropout as inference has it, a cast to the type that is there.
// CHECK-LABEL: @others
func.func @others(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: ge.dropout
  // CHECK: func.return %x
  %r = ge.constant dense<0.5> : tensor<f32>
  %f = ge.constant dense<false> : tensor<i1>
  %0 = ge.dropout %x, %r, %f : tensor<4xf32>, tensor<f32>, tensor<i1> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// In bodies too.
// CHECK-LABEL: @bodies
func.func @bodies(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: ge.identity
  %0 = ge.fusion "f" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = ge.identity %a : tensor<4xf32> -> tensor<4xf32>
    ge.yield %1 : tensor<4xf32>
  }
  %2 = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
    %3 = ge.identity %x : tensor<4xf32> -> tensor<4xf32>
    ge.yield %3 : tensor<4xf32>
  } else {
    ge.yield %0 : tensor<4xf32>
  }
  func.return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// A type that says more than the operand's would be lost; a dropout that may train is none.
// CHECK-LABEL: @left_alone
func.func @left_alone(%x: tensor<?xf32>, %k: tensor<i1>) -> (tensor<4xf32>, tensor<?xf32>) {
  // CHECK: ge.identity %x
  // REMARK: node "Identity_4": ge.identity not dropped: its type says more than its operand's
  %0 = ge.identity %x : tensor<?xf32> -> tensor<4xf32> onnx "Identity_4"
  // CHECK: ge.opaque "Dropout"
  %1, %m = ge.opaque "Dropout" version 13 (%x, none, %k) : (tensor<?xf32>, tensor<i1>) -> (tensor<?xf32>, tensor<?xi1>)
  func.return %0, %1 : tensor<4xf32>, tensor<?xf32>
}
