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

// A cast to a type as wide: index i of both is the same bytes, seen under two types. One slot, there and back.
// CHECK-LABEL: @cast_as_wide
// CHECK-SAME: ge.arena_bound = 64
func.func @cast_as_wide(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      %a = ge.slot %arena[0] {{.*}} -> memref<4x4xf32>
  // CHECK:      %b = ge.retyped %a : memref<4x4xf32> to memref<4x4xi32>
  // CHECK-NEXT: ge.launch ins(%a : {{.*}} outs(%b :
  // CHECK:      ge.launch ins(%b : {{.*}} outs(%a :
  // CHECK:      ge.launch ins(%a, %x
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.cast %a to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  %c = ge.cast %b to f32 : tensor<4x4xi32> -> tensor<4x4xf32>
  %y = ge.matmul %c, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// A truth value takes a byte, as an i8 does: 16 bytes, rounded up to 64.
// CHECK-LABEL: @truth_values_are_bytes
// CHECK-SAME: ge.arena_bound = 64
func.func @truth_values_are_bytes(%x: tensor<4x4xi8>) -> tensor<4x4xi1> {
  // CHECK: %b = ge.retyped %a : memref<4x4xi8> to memref<4x4xi1>
  %a = ge.transpose %x perm [1, 0] : tensor<4x4xi8> -> tensor<4x4xi8>
  %b = ge.cast %a to i1 : tensor<4x4xi8> -> tensor<4x4xi1>
  %y = ge.transpose %b perm [1, 0] : tensor<4x4xi1> -> tensor<4x4xi1>
  func.return %y : tensor<4x4xi1>
}

// To half the width: 64 and 64 (32 rounded up) bytes.
// CHECK-LABEL: @cast_to_another_width
// CHECK-SAME: ge.arena_bound = 128
func.func @cast_to_another_width(%x: tensor<4x4xf32>) -> tensor<4x4xf16> {
  // CHECK-NOT: ge.retyped
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.cast %a to f16 : tensor<4x4xf32> -> tensor<4x4xf16>
  %y = ge.matmul %b, %b : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  func.return %y : tensor<4x4xf16>
}

// The input is the caller's, and %a is read after its cast: three slots of 64 bytes when %b is made.
// CHECK-LABEL: @cast_of_what_is_still_needed
// CHECK-SAME: ge.arena_bound = 192
func.func @cast_of_what_is_still_needed(%x: tensor<4x4xf32>) -> (tensor<4x4xi32>, tensor<4x4xf32>) {
  // CHECK-NOT: ge.retyped
  // CHECK:     func.return
  %i = ge.cast %x to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.cast %a to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  %y = ge.add %b, %i : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  %z = ge.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xi32>, tensor<4x4xf32>
}

// In a fusion too, whose other ops read index by index.
// CHECK-LABEL: @cast_at_the_end_of_a_fusion
// CHECK-SAME: ge.arena_bound = 64
func.func @cast_at_the_end_of_a_fusion(%x: tensor<4x4xf32>) -> tensor<4x4xi32> {
  // CHECK: %b = ge.retyped %a : memref<4x4xf32> to memref<4x4xi32>
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.fusion "RoundCast" (%c = %a : tensor<4x4xf32>) -> (tensor<4x4xi32>) {
    %d = ge.round %c : tensor<4x4xf32> -> tensor<4x4xf32>
    %e = ge.cast %d to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
    ge.yield %e : tensor<4x4xi32>
  }
  %y = ge.matmul %b, %b : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  func.return %y : tensor<4x4xi32>
}

// Bits under another type are a view: no launch, and what is written over the view is written over %a.
// CHECK-LABEL: @bits
// CHECK-SAME: ge.arena_bound = 64
func.func @bits(%x: tensor<4x4xf32>) -> tensor<4x4xi32> {
  // CHECK:      %b = ge.retyped %a : memref<4x4xf32> to memref<4x4xi32>
  // CHECK-NEXT: ge.launch ins(%b : {{.*}} outs(%b :
  // CHECK:        ge.neg
  // CHECK:      ge.launch ins(%b : {{.*}} outs(%y :
  // CHECK:        ge.matmul
  // CHECK-NOT:  ge.launch
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.bit_cast %a to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  %c = ge.neg %b : tensor<4x4xi32> -> tensor<4x4xi32>
  %y = ge.matmul %c, %c : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  func.return %y : tensor<4x4xi32>
}

// Returned bits: computed straight into the caller's buffer, under the type that they are computed in.
// CHECK-LABEL: @returned_bits
// CHECK-SAME: ge.arena_bound = 0
func.func @returned_bits(%x: tensor<4x4xf32>) -> tensor<4x4xi32> {
  // CHECK-NEXT: %[[A:.*]] = ge.retyped %y : memref<4x4xi32> to memref<4x4xf32>
  // CHECK-NEXT: ge.launch ins(%x : {{.*}} outs(%[[A]] :
  // CHECK-NOT:  memref.copy
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.bit_cast %a to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  func.return %y : tensor<4x4xi32>
}

// A part of a join, cast there and back: the whole is f32, the part is seen as i32 in between.
// CHECK-LABEL: @cast_in_a_part
// CHECK-SAME: ge.arena_bound = 128
func.func @cast_in_a_part(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  // CHECK:      %[[I:.*]] = memref.subview %[[J:.*]][0, 0]
  // CHECK-NEXT: %[[R:.*]] = ge.retyped %[[I]] : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xi32, strided<[8, 1]>>
  // CHECK-NEXT: ge.launch ins(%x : {{.*}} outs(%[[R]] :
  // CHECK:      ge.launch ins(%[[R]] : {{.*}} outs(%[[I]] :
  // CHECK:      %[[K:.*]] = memref.subview %[[J]][0, 4]
  // CHECK-NEXT: ge.launch ins(%x : {{.*}} outs(%[[K]] :
  // CHECK:      ge.launch ins(%[[J]] :
  // CHECK-NOT:  ge.launch
  %i = ge.cast %x to i32 : tensor<4x4xf32> -> tensor<4x4xi32>
  %a = ge.cast %i to f32 : tensor<4x4xi32> -> tensor<4x4xf32>
  %b = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %c = ge.concat %a, %b axis 1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
  %y = ge.softmax %c axis 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// Two parts of %e, one row apart: over either of them, a row would be written that the other one still has to be read
// at. 64 and 64 bytes.
// CHECK-LABEL: @not_over_parts_that_overlap
// CHECK-SAME: ge.arena_bound = 128
func.func @not_over_parts_that_overlap(%x: tensor<4x4xf32>) -> tensor<3x3xf32> {
  // CHECK: ge.launch ins(%b, %a : {{.*}} outs(%d :
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %3 = ge.constant dense<[3]> : tensor<1xi64>
  %4 = ge.constant dense<[4]> : tensor<1xi64>
  %e = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %a = ge.slice %e, %0, %3 : tensor<4x4xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<3x4xf32>
  %b = ge.slice %e, %1, %4 : tensor<4x4xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<3x4xf32>
  %d = ge.mul %b, %a : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %t = ge.transpose %d perm [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %y = ge.matmul %d, %t : tensor<3x4xf32>, tensor<4x3xf32> -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}
