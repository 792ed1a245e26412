// RUN: ge-opt --compose-transposes --verify-each %s | filecheck %s

// CHECK-LABEL: @back_again
func.func @back_again(%x: tensor<2x4x8xf16>) -> tensor<2x4x8xf16> {
  // CHECK: func.return %x
  %a = ge.transpose %x perm [0, 2, 1] : tensor<2x4x8xf16> -> tensor<2x8x4xf16>
  %b = ge.transpose %a perm [0, 2, 1] : tensor<2x8x4xf16> -> tensor<2x4x8xf16>
  func.return %b : tensor<2x4x8xf16>
}

// Three are one, under the last one's name. Without `perm` the axes are reversed.
// CHECK-LABEL: @three
func.func @three(%x: tensor<2x?x8xf16>) -> tensor<2x8x?xf16> {
  // CHECK: %c = ge.transpose %x perm [0, 2, 1] : tensor<2x?x8xf16> -> tensor<2x8x?xf16> onnx "T_3" ["y"]
  // CHECK: func.return %c
  %a = ge.transpose %x perm [1, 2, 0] : tensor<2x?x8xf16> -> tensor<?x8x2xf16> onnx "T_1" ["a"]
  %b = ge.transpose %a : tensor<?x8x2xf16> -> tensor<2x8x?xf16> onnx "T_2" ["b"]
  %c = ge.transpose %b perm [0, 1, 2] : tensor<2x8x?xf16> -> tensor<2x8x?xf16> onnx "T_3" ["y"]
  func.return %c : tensor<2x8x?xf16>
}

// The inner transpose is also a result, so it stays; the outer one still reads %x directly.
// CHECK-LABEL: @inner_has_another_reader
func.func @inner_has_another_reader(%x: tensor<2x4x8xf16>) -> (tensor<2x8x4xf16>, tensor<4x8x2xf16>) {
  // CHECK-DAG: ge.transpose %x perm [0, 2, 1] : tensor<2x4x8xf16> -> tensor<2x8x4xf16> onnx "T_1" ["a"]
  // CHECK-DAG: ge.transpose %x perm [1, 2, 0] : tensor<2x4x8xf16> -> tensor<4x8x2xf16> onnx "T_2" ["b"]
  %a = ge.transpose %x perm [0, 2, 1] : tensor<2x4x8xf16> -> tensor<2x8x4xf16> onnx "T_1" ["a"]
  %b = ge.transpose %a perm [2, 1, 0] : tensor<2x8x4xf16> -> tensor<4x8x2xf16> onnx "T_2" ["b"]
  func.return %a, %b : tensor<2x8x4xf16>, tensor<4x8x2xf16>
}

// Inside a body, but not over its edge; something between them stays between them.
// CHECK-LABEL: @bodies
func.func @bodies(%x: tensor<2x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>, tensor<2x4xf16>) {
  // CHECK: ge.fusion "f"
  // CHECK-NEXT: ge.yield %a
  %0 = ge.fusion "f" (%a = %x : tensor<2x4xf16>) -> (tensor<2x4xf16>) {
    %1 = ge.transpose %a perm [1, 0] : tensor<2x4xf16> -> tensor<4x2xf16>
    %2 = ge.transpose %1 perm [1, 0] : tensor<4x2xf16> -> tensor<2x4xf16>
    ge.yield %2 : tensor<2x4xf16>
  }
  // CHECK: %[[T:.*]] = ge.transpose %x
  // CHECK-NEXT: ge.fusion "g" (%a = %[[T]]
  // CHECK-NEXT: ge.transpose %a
  %3 = ge.transpose %x perm [1, 0] : tensor<2x4xf16> -> tensor<4x2xf16>
  %4 = ge.fusion "g" (%a = %3 : tensor<4x2xf16>) -> (tensor<2x4xf16>) {
    %5 = ge.transpose %a perm [1, 0] : tensor<4x2xf16> -> tensor<2x4xf16>
    ge.yield %5 : tensor<2x4xf16>
  }
  // CHECK: %[[E:.*]] = ge.exp %[[T]]
  // CHECK-NEXT: ge.transpose %[[E]]
  %6 = ge.exp %3 : tensor<4x2xf16> -> tensor<4x2xf16>
  %7 = ge.transpose %6 perm [1, 0] : tensor<4x2xf16> -> tensor<2x4xf16>
  func.return %0, %4, %7 : tensor<2x4xf16>, tensor<2x4xf16>, tensor<2x4xf16>
}

// One that moves nothing stays where its type says more than its operand's.
// CHECK-LABEL: @a_type_that_says_more
// CHECK:         ge.transpose %x perm [0, 1] : tensor<?x4xf16> -> tensor<2x4xf16>
func.func @a_type_that_says_more(%x: tensor<?x4xf16>) -> tensor<2x4xf16> {
  %a = ge.transpose %x perm [0, 1] : tensor<?x4xf16> -> tensor<2x4xf16>
  func.return %a : tensor<2x4xf16>
}
