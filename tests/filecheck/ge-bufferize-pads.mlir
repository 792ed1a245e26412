// RUN: ge-opt --ge-bufferize --verify-each %s | filecheck %s

// %a is computed into the interior of %p: row 1 of 6, column 1 of 6, that is 1 * 6 + 1 = 7 elements after its start. The
// border is written around it: the row above, the row below (5 * 6 = 30), then beside the rows between, from 6 on, the
// column before them and the one after (6 + 5 = 11). %p takes 6 * 6 * 4 = 144 bytes, 192 in whole lines of 64; with %a
// apart there would be 64 more.
// CHECK-LABEL: @interior
// CHECK-SAME: ge.arena_bound = 192
func.func @interior(%x: tensor<4x4xf32>) -> tensor<1x1xf32> {
  // CHECK-NEXT: %p = ge.slot %arena[0]
  // CHECK-NEXT: %a = memref.subview %p[1, 1] [4, 4] [1, 1] : memref<6x6xf32> to memref<4x4xf32, strided<[6, 1], offset: 7>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      %[[ABOVE:.*]] = memref.subview %p[0, 0] [1, 6] [1, 1] : memref<6x6xf32> to memref<1x6xf32, strided<[6, 1]>>
  // CHECK-NEXT: ge.launch outs(%[[ABOVE]] {{.*}} {
  // CHECK-NEXT:   ge.constant {{.*}}0.5
  // CHECK:      memref.subview %p[5, 0] [1, 6] [1, 1] : memref<6x6xf32> to memref<1x6xf32, strided<[6, 1], offset: 30>>
  // CHECK:      memref.subview %p[1, 0] [4, 1] [1, 1] : memref<6x6xf32> to memref<4x1xf32, strided<[6, 1], offset: 6>>
  // CHECK:      memref.subview %p[1, 5] [4, 1] [1, 1] : memref<6x6xf32> to memref<4x1xf32, strided<[6, 1], offset: 11>>
  // CHECK-NOT:  ge.pad
  // CHECK:      ge.launch ins(%p
  %pads = ge.constant dense<[1, 1, 1, 1]> : tensor<4xi64>
  %half = ge.constant dense<0.5> : tensor<f32>
  %a = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %p = ge.pad %a, %pads, %half : tensor<4x4xf32>, tensor<4xi64>, tensor<f32> -> tensor<6x6xf32>
  %y = ge.reduce_sum %p : tensor<6x6xf32> -> tensor<1x1xf32>
  func.return %y : tensor<1x1xf32>
}

// One axis, in the caller's buffer: two elements of 0 before, none behind.
// CHECK-LABEL: @before
func.func @before(%x: tensor<4xf32>) -> tensor<6xf32> {
  // CHECK-NEXT: %a = memref.subview %p[2] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 2>>
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      memref.subview %p[0] [2] [1] : memref<6xf32> to memref<2xf32, strided<[1]>>
  // CHECK-NEXT: ge.launch outs(
  // CHECK-NOT:  memref.subview
  // CHECK:      func.return
  %pads = ge.constant dense<[2, 0]> : tensor<2xi64>
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %p = ge.pad %a, %pads : tensor<4xf32>, tensor<2xi64> -> tensor<6xf32>
  func.return %p : tensor<6xf32>
}

// An input is not computed here, a mirrored border depends on data, and a cut border leaves no room: three launches.
// CHECK-LABEL: @launched
func.func @launched(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<4xf32>) {
  // CHECK-NOT: memref.subview
  // CHECK:     func.return
  %pads = ge.constant dense<[1, 1]> : tensor<2xi64>
  %cut = ge.constant dense<[1, -1]> : tensor<2xi64>
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = ge.tanh %x : tensor<4xf32> -> tensor<4xf32>
  %p = ge.pad %x, %pads : tensor<4xf32>, tensor<2xi64> -> tensor<6xf32>
  %q = ge.pad %a, %pads mode "reflect" : tensor<4xf32>, tensor<2xi64> -> tensor<6xf32>
  %r = ge.pad %b, %cut : tensor<4xf32>, tensor<2xi64> -> tensor<4xf32>
  func.return %p, %q, %r : tensor<6xf32>, tensor<6xf32>, tensor<4xf32>
}

// %n is written over %p, border and all, but %a is read after it: %a has a slot of its own.
// CHECK-LABEL: @read_later
func.func @read_later(%x: tensor<16xf32>) -> (tensor<1xf32>, tensor<16xf32>) {
  // CHECK-NEXT: %a = ge.slot
  // CHECK:      ge.pad
  // CHECK:      ge.launch ins(%p {{.*}} outs(%p
  %pads = ge.constant dense<[1, 1]> : tensor<2xi64>
  %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
  %p = ge.pad %a, %pads : tensor<16xf32>, tensor<2xi64> -> tensor<18xf32>
  %n = ge.neg %p : tensor<18xf32> -> tensor<18xf32>
  %y = ge.reduce_sum %n : tensor<18xf32> -> tensor<1xf32>
  %z = ge.softmax %a : tensor<16xf32> -> tensor<16xf32>
  func.return %y, %z : tensor<1xf32>, tensor<16xf32>
}
