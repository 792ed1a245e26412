// RUN: ge-opt --ge-bufferize --verify-each %s | filecheck %s

// A slot is 4 * 4 * 4 = 64 bytes. Each rule stands between a product, which makes what it reads, and a product, which
// reads what it makes: where the result lies over the operand one slot is enough, else the bound is 128.

// The other side is broadcast: row i of the result needs element i of it, which nobody writes.
// CHECK-LABEL: @broadcast
// CHECK-SAME: ge.arena_bound = 64
func.func @broadcast(%x: tensor<4x4xf32>, %b: tensor<4x1xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a, %b {{.*}} outs(%a
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.add %a, %b : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// What is broadcast is read again for each row: the result, which is larger, does not lie over it. 64 and 64 (16 rounded
// up) bytes.
// CHECK-LABEL: @not_over_what_is_broadcast
// CHECK-SAME: ge.arena_bound = 128
func.func @not_over_what_is_broadcast(%x: tensor<4x4xf32>, %w: tensor<4x1xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a, %x {{.*}} outs(%r
  %a = ge.matmul %x, %w : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
  %r = ge.add %a, %x : tensor<4x1xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// Softmax has read a row before it writes it.
// CHECK-LABEL: @softmax
// CHECK-SAME: ge.arena_bound = 64
func.func @softmax(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a : {{.*}} outs(%a
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.softmax %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// So has a normalisation.
// CHECK-LABEL: @normalisation
// CHECK-SAME: ge.arena_bound = 64
func.func @normalisation(%x: tensor<4x4xf32>, %s: tensor<4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a, %s {{.*}} outs(%a
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.layer_normalization %a, %s : tensor<4x4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// A residual: %a lives on beside %b, and the sum lies over one of them. Two slots.
// CHECK-LABEL: @residual
// CHECK-SAME: ge.arena_bound = 128
func.func @residual(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%[[A:[ab]]], %{{[ab]}} {{.*}} outs(%[[A]]
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.add %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// One value twice: both are read at the index that is written.
// CHECK-LABEL: @squared
// CHECK-SAME: ge.arena_bound = 64
func.func @squared(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a : {{.*}} outs(%a
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.mul %a, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// A transposition writes places that it has not read yet.
// CHECK-LABEL: @transposed
// CHECK-SAME: ge.arena_bound = 128
func.func @transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ge.launch ins(%a : {{.*}} outs(%r
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.transpose %a perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// %a is returned and read: it is the caller's, and %r does not lie over it.
// CHECK-LABEL: @returned_and_read
// CHECK-SAME: ge.arena_bound = 64
func.func @returned_and_read(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      %r = ge.slot
  // CHECK-NEXT: ge.launch ins(%a : {{.*}} outs(%r
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %a, %y : tensor<4x4xf32>, tensor<4x4xf32>
}

// Nothing takes no room: two values of no element lie at 0, one of rank 0 takes one line of 64 bytes.
// CHECK-LABEL: @small
// CHECK-SAME: ge.arena_bound = 64
func.func @small(%x: tensor<0x4xf32>, %s: tensor<f32>) -> (tensor<0x0xf32>, tensor<1x1xf32>) {
  // CHECK: ge.slot %arena[0] {{.*}} -> memref<0x4xf32>
  // CHECK: ge.slot %arena[0] {{.*}} -> memref<f32>
  %w = ge.constant dense<> : tensor<4x0xf32>
  %t = ge.constant dense<[1, 1]> : tensor<2xi64>
  %a = ge.exp %x : tensor<0x4xf32> -> tensor<0x4xf32>
  %b = ge.exp %s : tensor<f32> -> tensor<f32>
  %c = ge.reshape %b, %t : tensor<f32>, tensor<2xi64> -> tensor<1x1xf32>
  %y = ge.matmul %a, %w : tensor<0x4xf32>, tensor<4x0xf32> -> tensor<0x0xf32>
  %z = ge.matmul %c, %c : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  func.return %y, %z : tensor<0x0xf32>, tensor<1x1xf32>
}
