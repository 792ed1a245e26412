// RUN: ge-opt --replace-with-empty-const --verify-each %s | filecheck %s

// CHECK-LABEL: @nothing_in_it
func.func @nothing_in_it(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  // CHECK-NEXT: ge.constant {{.*}} : tensor<0x8xf32>
  // CHECK-NEXT: func.return
  %y = ge.exp %x : tensor<0x8xf32> -> tensor<0x8xf32>
  func.return %y : tensor<0x8xf32>
}

// What stood in a loop goes with it.
// CHECK-LABEL: @nothing_in_a_loop
func.func @nothing_in_a_loop(%n: tensor<i64>, %go: tensor<i1>, %x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  // CHECK-NEXT: ge.constant {{.*}} : tensor<0x8xf32>
  // CHECK-NEXT: func.return
  %y = ge.loop %n, %go, %x : tensor<i64>, tensor<i1>, tensor<0x8xf32> -> tensor<0x8xf32> {
  ^bb0(%k: tensor<i64>, %on: tensor<i1>, %a: tensor<0x8xf32>):
    %b = ge.exp %a : tensor<0x8xf32> -> tensor<0x8xf32>
    ge.yield %on, %b : tensor<i1>, tensor<0x8xf32>
  }
  func.return %y : tensor<0x8xf32>
}

// Random numbers may be asked for in an order; and a free dim need not be 0.
// CHECK-LABEL: @left_alone
func.func @left_alone(%x: tensor<?x8xf32>) -> (tensor<0x8xf32>, tensor<?x8xf32>) {
  // CHECK: ge.opaque "RandomNormal"
  // CHECK: ge.exp
  %r = ge.opaque "RandomNormal" version 1 () attrs {shape = array<i64: 0, 8>} : () -> (tensor<0x8xf32>)
  %y = ge.exp %x : tensor<?x8xf32> -> tensor<?x8xf32>
  func.return %r, %y : tensor<0x8xf32>, tensor<?x8xf32>
}
