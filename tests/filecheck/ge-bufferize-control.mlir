// RUN: ge-opt --ge-bufferize --memory-reuse --verify-each %s | filecheck %s
// RUN: ge-opt --ge-bufferize --memory-reuse="strategy=conservative" --verify-each %s | filecheck %s --check-prefix=TAKEN
// RUN: ge-opt --ge-bufferize="in-place=false views=false" --memory-reuse --verify-each %s | filecheck %s --check-prefix=APART

// The branches are written straight into the result's buffer. Slots of 16 * 4 = 64 bytes: %p lives until the second
// branch, [0, 4). The first branch's steps are 2 and 3, the second's 4: %0 and %1 share a place, for only one runs.
// CHECK-LABEL: @branches_share
// CHECK-SAME: %arena: memref<128xi8>
// CHECK-SAME: ge.arena_bound = 128
func.func @branches_share(%c: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %p = ge.slot %arena[0] life [0, 5)
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%p
  // CHECK:      %[[C:.*]] = memref.load %c[] : memref<i1>
  // CHECK-NEXT: %a = ge.slot %arena[64] life [2, 4)
  // CHECK-NEXT: %b = ge.slot %arena[64] life [4, 6)
  // CHECK-NEXT: scf.if %[[C]] {
  // CHECK-NEXT:   ge.launch ins(%p, %x {{.*}} outs(%a
  // CHECK:        ge.launch ins(%a, %x {{.*}} outs(%y
  // CHECK:      } else {
  // CHECK-NEXT:   ge.launch ins(%x, %p {{.*}} outs(%b
  // CHECK:        ge.launch ins(%b, %x {{.*}} outs(%y
  // CHECK-NOT:  memref.copy
  // CHECK:      func.return
  %p = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<4x4xf32>) {
    %a = ge.matmul %p, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %0 = ge.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %0 : tensor<4x4xf32>
  } else {
    %b = ge.matmul %x, %p : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = ge.matmul %b, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  func.return %y : tensor<4x4xf32>
}

// Relu reads an index no later than it writes it: the next state lies over the last one, and the result over what the
// loop starts with. One slot for all; no copy.
// Taken apart, the next state has a slot of its own, and goes to where the next iteration finds it. Never in place, the
// result does not lie over what the loop starts with either: %v, %r and %b, of which two are alive at a time.
// CHECK-LABEL: @carried_in_place
// TAKEN-LABEL: @carried_in_place
// TAKEN-SAME: ge.arena_bound = 128
// APART-LABEL: @carried_in_place
// APART-SAME: ge.arena_bound = 128
func.func @carried_in_place(%m: tensor<i64>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %v = ge.slot
  // CHECK-NEXT: ge.launch ins(%x {{.*}} outs(%v
  // CHECK-NOT:  memref.copy
  // CHECK:      scf.while
  // CHECK:        ge.launch ins(%v {{.*}} outs(%v
  // CHECK:      }
  // CHECK:      ge.launch ins(%v, %x {{.*}} outs(%y
  // TAKEN:      %v = ge.slot
  // TAKEN:      %[[NEXT:.*]] = ge.slot
  // TAKEN:      scf.while
  // TAKEN:        ge.launch ins(%v : {{.*}} outs(%[[NEXT]]
  // TAKEN:        "memref.copy"(%[[NEXT]], %v)
  // TAKEN:        scf.yield
  // APART:      ge.launch ins(%x {{.*}} outs(%v
  // APART:      "memref.copy"(%v, %r)
  // APART:      scf.while
  // APART:        ge.launch ins(%r : {{.*}} outs(%b
  // APART:        "memref.copy"(%b, %r)
  // APART:        scf.yield
  %v = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.loop %m, none, %v : tensor<i64>, tensor<4x4xf32> -> tensor<4x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4x4xf32>):
    %b = ge.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %go, %b : tensor<i1>, tensor<4x4xf32>
  }
  %y = ge.matmul %r, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// A product reads all of the last state after it has begun to write: two buffers, and a copy at the end of each
// iteration. %b lives inside an iteration.
// CHECK-LABEL: @two_buffers
func.func @two_buffers(%m: tensor<i64>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: "memref.copy"(%x, %r)
  // CHECK:      %b = ge.slot
  // CHECK:      scf.while
  // CHECK:        ge.launch ins(%r, %x {{.*}} outs(%b
  // CHECK:        "memref.copy"(%b, %r)
  // CHECK:        scf.yield
  %r = ge.loop %m, none, %x : tensor<i64>, tensor<4x4xf32> -> tensor<4x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4x4xf32>):
    %b = ge.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %go, %b : tensor<i1>, tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// What a body sees from around it lives for the whole loop: %p is read in step 3, but the next iteration reads it again,
// so %c, which is computed after it, has another place. %c is over %b: 64 bytes for %p, 64 for %b and %c.
// CHECK-LABEL: @captured
func.func @captured(%m: tensor<i64>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      %p = ge.slot %arena[[[P:[0-9]+]]] life [0, [[END:[0-9]+]])
  // CHECK:      %b = ge.slot
  // CHECK-NEXT: %c = ge.slot
  // CHECK:      scf.while
  // CHECK:        ge.launch ins(%r, %p {{.*}} outs(%b
  // CHECK:        ge.launch ins(%b {{.*}} outs(%c
  %p = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %r = ge.loop %m, none, %x : tensor<i64>, tensor<4x4xf32> -> tensor<4x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4x4xf32>):
    %b = ge.add %a, %p : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %c = ge.matmul %b, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %d = ge.add %c, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %go, %d : tensor<i1>, tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// Each is the other's next value: both are kept before either is written.
// CHECK-LABEL: @swapped
func.func @swapped(%m: tensor<i64>, %x: tensor<4xf32>, %u: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      scf.while
  // CHECK:        "memref.copy"(%z, %b)
  // CHECK-NEXT:   "memref.copy"(%y, %a)
  // CHECK:        "memref.copy"(%b, %y)
  // CHECK-NEXT:   "memref.copy"(%a, %z)
  %y, %z = ge.loop %m, none, %x, %u : tensor<i64>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    ge.yield %go, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// A row of the stacked result is computed in its place: row k begins k * 4 elements after the first.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<4xf32>, %u: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  // CHECK-NEXT: "memref.copy"(%x, %y)
  // CHECK:      scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step
  // CHECK:        %[[IN:.*]] = memref.subview %u[%[[K]], 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  // CHECK:        %[[OUT:.*]] = memref.subview %s[%[[K]], 0] [1, 4] [1, 1]
  // CHECK-NEXT:   ge.launch ins(%y, %[[IN]] {{.*}} outs(%[[OUT]]
  // CHECK:        ge.launch ins(%[[OUT]] {{.*}} outs(%y
  %y, %s = ge.scan %x, %u num_scan_inputs 1 : tensor<4xf32>, tensor<3x4xf32> -> tensor<4xf32>, tensor<3x4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = ge.add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %d = ge.tanh %c : tensor<4xf32> -> tensor<4xf32>
    ge.yield %d, %c : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<3x4xf32>
}

// How many elements there are in a branch depends on data: the conditional is one launch, its bodies stay on tensors.
// CHECK-LABEL: @on_tensors
func.func @on_tensors(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<f32> {
  // CHECK:      ge.launch ins(%c, %a : memref<i1>, memref<4xf32>) outs(%y : memref<f32>) {
  // CHECK:        ge.if
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<f32>) {
    %n = ge.opaque "NonZero" version 13 pure (%a) : (tensor<4xf32>) -> (tensor<1x?xi64>)
    %g = ge.gather %a, %n : tensor<4xf32>, tensor<1x?xi64> -> tensor<1x?xf32>
    %s = ge.reduce_sum %g keepdims 0 : tensor<1x?xf32> -> tensor<f32>
    ge.yield %s : tensor<f32>
  } else {
    %s = ge.reduce_sum %a keepdims 0 : tensor<4xf32> -> tensor<f32>
    ge.yield %s : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// What a body needs counts at the conditional: %u and %v, 4096 bytes each, are alive there beside %a, of 64, 8256 in all.
// With %a inside the 128 bytes of %j it would be 8320.
// CHECK-LABEL: @body_at_the_peak
// CHECK-SAME: ge.arena_bound = 8256
func.func @body_at_the_peak(%c: tensor<i1>, %x: tensor<16xf32>, %w: tensor<32x32xf32>) -> (tensor<1x1xf32>, tensor<1xf32>) {
  // CHECK: ge.concat
  %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<1x1xf32>) {
    %u = ge.exp %w : tensor<32x32xf32> -> tensor<32x32xf32>
    %v = ge.matmul %u, %u : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    %0 = ge.reduce_sum %v : tensor<32x32xf32> -> tensor<1x1xf32>
    ge.yield %0 : tensor<1x1xf32>
  } else {
    %0 = ge.reduce_sum %w : tensor<32x32xf32> -> tensor<1x1xf32>
    ge.yield %0 : tensor<1x1xf32>
  }
  %b = ge.sigmoid %x : tensor<16xf32> -> tensor<16xf32>
  %j = ge.concat %a, %b axis 0 : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  %z = ge.reduce_sum %j : tensor<32xf32> -> tensor<1xf32>
  func.return %y, %z : tensor<1x1xf32>, tensor<1xf32>
}
