// RUN: ge-opt --ge-bufferize --verify-each %s | filecheck %s

// Rows 2 and 3 of %a begin 2 * 6 = 12 elements after it; no launch is left of the split.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
  // CHECK:      ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      %b = memref.subview %a[0, 0] [2, 6] [1, 1] : memref<4x6xf32> to memref<2x6xf32, strided<[6, 1]>>
  // CHECK-NEXT: %c = memref.subview %a[2, 0] [2, 6] [1, 1] : memref<4x6xf32> to memref<2x6xf32, strided<[6, 1], offset: 12>>
  // CHECK-NEXT: ge.launch ins(%b, %c : {{.*}}) outs(%y
  // CHECK-NOT:  ge.split
  %a = ge.exp %x : tensor<4x6xf32> -> tensor<4x6xf32>
  %b, %c = ge.split %a axis 0 : tensor<4x6xf32> -> tensor<2x6xf32>, tensor<2x6xf32>
  %y = ge.sub %b, %c : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x6xf32>
  func.return %y : tensor<2x6xf32>
}

// Columns do not lie in a row: each of the 4 rows is 6 elements after the one before, columns 4 and 5 begin at 4.
// CHECK-LABEL: @columns
func.func @columns(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  // CHECK-NEXT: %b = memref.subview %x[0, 0] [4, 2] [1, 1] : memref<4x6xf32> to memref<4x2xf32, strided<[6, 1]>>
  // CHECK-NEXT: %d = memref.subview %x[0, 4] [4, 2] [1, 1] : memref<4x6xf32> to memref<4x2xf32, strided<[6, 1], offset: 4>>
  // CHECK-NEXT: ge.launch ins(%b, %d
  %b, %c, %d = ge.split %x axis 1 : tensor<4x6xf32> -> tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  %y = ge.sub %b, %d : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}

// A slice of a slice begins at (1 + 1) * 6 = 12; a view of it counts from the underlying buffer too.
// CHECK-LABEL: @slice_of_slice
func.func @slice_of_slice(%x: tensor<4x6xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %a = memref.subview %x[1, 0] [3, 6] [1, 1] : memref<4x6xf32> to memref<3x6xf32, strided<[6, 1], offset: 6>>
  // CHECK-NEXT: %b = memref.subview %a[1, 0] [1, 6] [1, 1] : memref<3x6xf32, strided<[6, 1], offset: 6>> to memref<1x6xf32, strided<[6, 1], offset: 12>>
  // CHECK-NEXT: %c = memref.reinterpret_cast %b to offset: [12], sizes: [3, 2], strides: [2, 1] : memref<1x6xf32, strided<[6, 1], offset: 12>> to memref<3x2xf32, strided<[2, 1], offset: 12>>
  // CHECK-NEXT: ge.launch ins(%c
  %one = ge.constant dense<[1]> : tensor<1xi64>
  %two = ge.constant dense<[2]> : tensor<1xi64>
  %end = ge.constant dense<[4]> : tensor<1xi64>
  %s = ge.constant dense<[3, 2]> : tensor<2xi64>
  %a = ge.slice %x, %one, %end : tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<3x6xf32>
  %b = ge.slice %a, %one, %two : tensor<3x6xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x6xf32>
  %c = ge.reshape %b, %s : tensor<1x6xf32>, tensor<2xi64> -> tensor<3x2xf32>
  %y = ge.exp %c : tensor<3x2xf32> -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// Columns cannot have another shape where they are, every other row is no box, and what is returned has the caller's
// buffer: three launches.
// CHECK-LABEL: @no_parts
func.func @no_parts(%x: tensor<4x6xf32>) -> (tensor<2x4xf32>, tensor<2x6xf32>, tensor<1x6xf32>) {
  // CHECK-NOT: subview
  // CHECK:     ge.slice
  // CHECK-NOT: subview
  // CHECK:     ge.slice
  // CHECK-NOT: subview
  // CHECK:     ge.slice
  // CHECK-NOT: subview
  // CHECK:     func.return
  %zero = ge.constant dense<[0]> : tensor<1xi64>
  %one = ge.constant dense<[1]> : tensor<1xi64>
  %two = ge.constant dense<[2]> : tensor<1xi64>
  %four = ge.constant dense<[4]> : tensor<1xi64>
  %s = ge.constant dense<[2, 4]> : tensor<2xi64>
  %a = ge.slice %x, %zero, %two, %one : tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<4x2xf32>
  %b = ge.reshape %a, %s : tensor<4x2xf32>, tensor<2xi64> -> tensor<2x4xf32>
  %c = ge.exp %b : tensor<2x4xf32> -> tensor<2x4xf32>
  %d = ge.slice %x, %zero, %four, %zero, %two : tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<2x6xf32>
  %e = ge.exp %d : tensor<2x6xf32> -> tensor<2x6xf32>
  %f = ge.slice %x, %zero, %one : tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x6xf32>
  func.return %c, %e, %f : tensor<2x4xf32>, tensor<2x6xf32>, tensor<1x6xf32>
}

// As parts, %s and %t would keep the 64 * 64 * 4 = 16384 bytes of %a alive while %b, as large, is there: 32768 bytes. As
// launches they are 64 * 4 = 256 bytes each, as %r is, and the peak is 16384 + 3 * 256 = 17152.
// CHECK-LABEL: @short_life
// CHECK-SAME: ge.arena_bound = 17152
func.func @short_life(%x: tensor<64x64xf32>) -> tensor<1x64xf32> {
  // CHECK: ge.split
  %axes = ge.constant dense<[0]> : tensor<1xi64>
  %begin = ge.constant dense<[0]> : tensor<1xi64>
  %end = ge.constant dense<[1]> : tensor<1xi64>
  %sizes = ge.constant dense<[1, 1, 62]> : tensor<3xi64>
  %a = ge.exp %x : tensor<64x64xf32> -> tensor<64x64xf32>
  %s, %t, %u = ge.split %a, %sizes axis 0 : tensor<64x64xf32>, tensor<3xi64> -> tensor<1x64xf32>, tensor<1x64xf32>, tensor<62x64xf32>
  %b = ge.sigmoid %x : tensor<64x64xf32> -> tensor<64x64xf32>
  %r = ge.reduce_sum %b, %axes : tensor<64x64xf32>, tensor<1xi64> -> tensor<1x64xf32>
  %0 = ge.add %s, %t : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32>
  %y = ge.add %0, %r : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32>
  func.return %y : tensor<1x64xf32>
}

// Axes of one element change places: no byte moves.
// CHECK-LABEL: @transpose_of_unit_dims
func.func @transpose_of_unit_dims(%x: tensor<1x4x1x6xf32>) -> tensor<4x1x6x1xf32> {
  // CHECK-NEXT: memref.reinterpret_cast %x to offset: [0], sizes: [4, 1, 6, 1], strides: [6, 6, 1, 1] : memref<1x4x1x6xf32> to memref<4x1x6x1xf32>
  // CHECK-NEXT: ge.launch
  // CHECK-NOT:  ge.transpose
  %a = ge.transpose %x perm [1, 0, 3, 2] : tensor<1x4x1x6xf32> -> tensor<4x1x6x1xf32>
  %y = ge.exp %a : tensor<4x1x6x1xf32> -> tensor<4x1x6x1xf32>
  func.return %y : tensor<4x1x6x1xf32>
}

// A tied embedding: a weight is read with its axes in another order, column k begins k elements after its start, and the
// elements of a column lie 16 apart. Nothing is turned round: the arena holds %e alone, 4 * 16 * 4 = 256 bytes.
// CHECK-LABEL: @transposed_weight
// CHECK-SAME: ge.arena_bound = 256
func.func @transposed_weight(%i: tensor<1x4xi64>) -> tensor<1x4x8xf32> {
  // CHECK:      %t = memref.reinterpret_cast %w to offset: [0], sizes: [16, 8], strides: [1, 16] : memref<8x16xf32> to memref<16x8xf32, strided<[1, 16]>>
  // CHECK-NEXT: ge.launch ins(%e, %t
  %w = ge.constant #ge.splat<0.5> : tensor<8x16xf32>
  %e = ge.gather %w, %i : tensor<8x16xf32>, tensor<1x4xi64> -> tensor<1x4x16xf32>
  %t = ge.transpose %w perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %y = ge.matmul %e, %t : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  func.return %y : tensor<1x4x8xf32>
}

// What is computed is turned round by a launch; so is a weight whose bytes are to have another shape after it.
// CHECK-LABEL: @turned_round
func.func @turned_round(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
  // CHECK: ge.transpose
  // CHECK: %t = memref.reinterpret_cast %w
  // CHECK: ge.launch ins(%t
  // CHECK: ge.reshape
  %s = ge.constant dense<[32]> : tensor<1xi64>
  %w = ge.constant #ge.splat<0.5> : tensor<4x8xf32>
  %a = ge.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %t = ge.transpose %w perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %b = ge.add %a, %t : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  %r = ge.reshape %t, %s : tensor<8x4xf32>, tensor<1xi64> -> tensor<32xf32>
  func.return %b, %r : tensor<8x4xf32>, tensor<32xf32>
}

// %r over %p would lie in four runs of bytes, which no view can give another shape: it has a slot of its own. What only
// launches read, as %n, lies over a part whatever its bytes are. 128 bytes for %e, 64 for %r.
// CHECK-LABEL: @over_a_part_in_pieces
// CHECK-SAME: ge.arena_bound = 192
func.func @over_a_part_in_pieces(%x: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<1x1xf32>) {
  // CHECK: %p = memref.subview %e[0, 0] [4, 4]
  // CHECK: %q = memref.subview %e[0, 4] [4, 4]
  // CHECK: ge.launch ins(%p : {{.*}} outs(%r : memref<4x4xf32>)
  // CHECK: %v = memref.reinterpret_cast %r
  // CHECK: ge.launch ins(%q : {{.*}} outs(%q :
  %s = ge.constant dense<[16, 1]> : tensor<2xi64>
  %e = ge.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %p, %q = ge.split %e axis 1 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xf32>
  %r = ge.relu %p : tensor<4x4xf32> -> tensor<4x4xf32>
  %v = ge.reshape %r, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<16x1xf32>
  %z = ge.reduce_sum %v : tensor<16x1xf32> -> tensor<1x1xf32>
  %n = ge.neg %q : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %n, %n : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<1x1xf32>
}
