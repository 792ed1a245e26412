// RUN: ge-opt --ge-bufferize --verify-each %s | filecheck %s
// RUN: ge-opt --ge-bufferize="in-place=false" --verify-each %s | filecheck %s --check-prefix=APART

// Both operands are computed into the result: %a at element 0, %b at 4. One slot of 8 * 4 = 32 bytes, no launch for the
// concat.
// CHECK-LABEL: @two_parts
// CHECK-SAME: ge.arena_bound = 64
// APART-LABEL: @two_parts
func.func @two_parts(%x: tensor<1x4xf32>, %w: tensor<8x2xf32>) -> tensor<1x2xf32> {
  // CHECK-NEXT: %c = ge.slot %arena[0] life [0, 3) : memref<64xi8> -> memref<1x8xf32>
  // CHECK-NEXT: %a = memref.subview %c[0, 0] [1, 4] [1, 1] : memref<1x8xf32> to memref<1x4xf32, strided<[8, 1]>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      %b = memref.subview %c[0, 4] [1, 4] [1, 1] : memref<1x8xf32> to memref<1x4xf32, strided<[8, 1], offset: 4>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%b
  // CHECK-NOT:  ge.concat
  // CHECK:      ge.launch ins(%c, %w
  // APART:      ge.concat
  %a = ge.exp %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = ge.sigmoid %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %c = ge.concat %a, %b axis 1 : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<1x8xf32>
  %y = ge.matmul %c, %w : tensor<1x8xf32>, tensor<8x2xf32> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// A concat in a concat, and in the caller's buffer: %c is 8 of the 12 columns of %y from column 4, %b the columns from
// 4 + 4 = 8. What lies over %a, lies where %a does. The input is copied.
// CHECK-LABEL: @nested
func.func @nested(%x: tensor<2x4xf32>) -> tensor<2x12xf32> {
  // CHECK-NEXT: %c = memref.subview %y[0, 4] [2, 8] [1, 1] : memref<2x12xf32> to memref<2x8xf32, strided<[12, 1], offset: 4>>
  // CHECK-NEXT: %a = memref.subview %c[0, 0] [2, 4] [1, 1] : {{.*}} to memref<2x4xf32, strided<[12, 1], offset: 4>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      ge.launch ins(%a {{.*}} outs(%a
  // CHECK:      %b = memref.subview %c[0, 4] [2, 4] [1, 1] : {{.*}} to memref<2x4xf32, strided<[12, 1], offset: 8>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%b
  // CHECK:      %[[X:.*]] = memref.subview %y[0, 0] [2, 4] [1, 1]
  // CHECK-NEXT: "memref.copy"(%x, %[[X]])
  // CHECK-NEXT: func.return
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %r = ge.relu %a : tensor<2x4xf32> -> tensor<2x4xf32>
  %b = ge.sigmoid %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %c = ge.concat %r, %b axis 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
  %y = ge.concat %x, %c axis 1 : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<2x12xf32>
  func.return %y : tensor<2x12xf32>
}

// One value twice, no elements, a value that is returned: no part of their own. %b has one, the others are copied.
// CHECK-LABEL: @copied
func.func @copied(%x: tensor<4xf32>, %z: tensor<0xf32>) -> (tensor<16xf32>, tensor<4xf32>) {
  // CHECK:      outs(%a
  // CHECK:      outs(%o
  // CHECK:      ge.launch ins(%z
  // CHECK:      %b = memref.subview %y[0] [4] [1]
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%b
  // CHECK:      %[[A:.*]] = memref.subview %y[4] [4] [1]
  // CHECK-NEXT: "memref.copy"(%a, %[[A]])
  // CHECK-NEXT: %[[B:.*]] = memref.subview %y[8] [4] [1]
  // CHECK-NEXT: "memref.copy"(%a, %[[B]])
  // CHECK-NEXT: %[[O:.*]] = memref.subview %y[12] [4] [1]
  // CHECK-NEXT: "memref.copy"(%o, %[[O]])
  // CHECK-NEXT: func.return
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %o = ge.tanh %x : tensor<4xf32> -> tensor<4xf32>
  %n = ge.exp %z : tensor<0xf32> -> tensor<0xf32>
  %b = ge.sigmoid %x : tensor<4xf32> -> tensor<4xf32>
  %y = ge.concat %b, %a, %n, %a, %o axis 0 : tensor<4xf32>, tensor<4xf32>, tensor<0xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<16xf32>
  func.return %y, %o : tensor<16xf32>, tensor<4xf32>
}

// %n is written over %c, but %a is read after it: %a has a slot of its own.
// CHECK-LABEL: @read_later
func.func @read_later(%x: tensor<16xf32>, %w: tensor<32x2xf32>) -> (tensor<2xf32>, tensor<16xf32>) {
  // CHECK-NEXT: %a = ge.slot
  // CHECK:      %b = memref.subview %c[16] [16] [1]
  // CHECK:      "memref.copy"(%a
  // CHECK:      ge.launch ins(%c {{.*}} outs(%c
  %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
  %b = ge.sigmoid %x : tensor<16xf32> -> tensor<16xf32>
  %c = ge.concat %a, %b axis 0 : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  %n = ge.neg %c : tensor<32xf32> -> tensor<32xf32>
  %y = ge.matmul %n, %w : tensor<32xf32>, tensor<32x2xf32> -> tensor<2xf32>
  %z = ge.softmax %a : tensor<16xf32> -> tensor<16xf32>
  func.return %y, %z : tensor<2xf32>, tensor<16xf32>
}

// At the peak, %big, of 1024 * 4 = 4096 bytes, and what it is computed from, 4096, are alive beside %a, of 64: 8256. With
// %a inside the 128 bytes of %c it would be 8320.
// CHECK-LABEL: @would_live_too_long
// CHECK-SAME: ge.arena_bound = 8256
func.func @would_live_too_long(%x: tensor<16xf32>, %v: tensor<32x32xf32>, %w: tensor<32x2xf32>) -> (tensor<2xf32>, tensor<1x32xf32>) {
  // CHECK: ge.concat
  %axes = ge.constant dense<[0]> : tensor<1xi64>
  %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
  %u = ge.exp %v : tensor<32x32xf32> -> tensor<32x32xf32>
  %big = ge.matmul %u, %u : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %z = ge.reduce_sum %big, %axes : tensor<32x32xf32>, tensor<1xi64> -> tensor<1x32xf32>
  %b = ge.sigmoid %x : tensor<16xf32> -> tensor<16xf32>
  %c = ge.concat %a, %b axis 0 : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  %y = ge.matmul %c, %w : tensor<32xf32>, tensor<32x2xf32> -> tensor<2xf32>
  func.return %y, %z : tensor<2xf32>, tensor<1x32xf32>
}

// What depends on constants alone comes right before its first reader: one table of 256 bytes at a time.
// CHECK-LABEL: @late_constants
// CHECK-SAME: ge.arena_bound = 512
func.func @late_constants(%x: tensor<8x8xf32>, %i: tensor<8xi64>) -> tensor<8x8xf32> {
  // CHECK:      ge.dequantize_linear
  // CHECK:      ge.matmul
  // CHECK:      ge.dequantize_linear
  // CHECK:      ge.matmul
  %q = ge.constant #ge.splat<3> : tensor<8x8xi8>
  %s = ge.constant dense<0.5> : tensor<f32>
  %a = ge.dequantize_linear %q, %s : tensor<8x8xi8>, tensor<f32> -> tensor<8x8xf32>
  %b = ge.dequantize_linear %q, %s : tensor<8x8xi8>, tensor<f32> -> tensor<8x8xf32>
  %0 = ge.matmul %x, %a : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %y = ge.matmul %0, %b : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}
