// RUN: ge-opt --memory-reuse --verify-each %s | filecheck %s
// RUN: ge-opt --memory-reuse --memory-reuse --verify-each %s | filecheck %s
// RUN: ge-opt --memory-reuse="strategy=conservative" --verify-each %s | filecheck %s --check-prefix=CONSERVATIVE
// RUN: ge-opt --memory-reuse="strategy=aggressive alignment=32" --verify-each %s | filecheck %s --check-prefix=AGGRESSIVE
// RUN: ge-opt --memory-reuse="max-reuse-ratio=0" --verify-each %s | filecheck %s --check-prefix=NONE

// The slots' own numbers are not believed: lifetimes come from the steps that touch them, half-open.
// CHECK-LABEL: @chain
// CHECK-SAME: %arena: memref<128xi8> {ge.arena, ge.alignment = 64 : i64}) attributes {ge.arena_bound = 128 : i64}
// AGGRESSIVE-LABEL: @chain
// AGGRESSIVE-SAME: %arena: memref<128xi8> {ge.arena, ge.alignment = 32 : i64})
// NONE-LABEL: @chain
// NONE-SAME: %arena: memref<192xi8>
func.func @chain(%x: memref<4x4xf32>, %y: memref<4x4xf32> {ge.result}, %arena: memref<640xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // CHECK: %a = ge.slot %arena[0] life [0, 2)
  // CHECK: %b = ge.slot %arena[64] life [1, 3)
  // CHECK: %c = ge.slot %arena[0] life [2, 4)
  %a = ge.slot %arena[64] life [0, 9) : memref<640xi8> -> memref<4x4xf32>
  ge.launch ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>) {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = ge.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  %b = ge.slot %arena[128] life [0, 9) : memref<640xi8> -> memref<4x4xf32>
  ge.launch ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = ge.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  %c = ge.slot %arena[192] life [0, 9) : memref<640xi8> -> memref<4x4xf32>
  ge.launch ins(%b : memref<4x4xf32>) outs(%c : memref<4x4xf32>) {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = ge.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  ge.launch ins(%c : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = ge.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  func.return
}

// %a lives as long as its view is read: %b, which is touched by the step of the view, is elsewhere.
// CHECK-LABEL: @view_keeps_alive
func.func @view_keeps_alive(%x: memref<16xf32>, %y: memref<16xf32> {ge.result}, %arena: memref<640xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // CHECK: %a = ge.slot %arena[{{0|64}}] life [0, 3)
  // CHECK: %b = ge.slot %arena[{{0|64}}] life [1, 3)
  %a = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<4x4xf32>
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1] : memref<4x4xf32> to memref<16xf32>
  "memref.copy"(%x, %v) : (memref<16xf32>, memref<16xf32>) -> ()
  %b = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<16xf32>
  "memref.copy"(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  ge.launch ins(%v, %b : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
    %2 = ge.add %0, %1 : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
    ge.yield %2 : tensor<16xf32>
  }
  func.return
}

// Conservative: no result lies over an operand; who reads %a afterwards means the new slot.
// CHECK-LABEL: @in_place
// CONSERVATIVE-LABEL: @in_place
func.func @in_place(%x: memref<16xf32>, %y: memref<4x4xf32> {ge.result}, %arena: memref<640xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // CHECK:        ge.launch ins(%a{{.*}}) outs(%a
  // CONSERVATIVE: %a = ge.slot %arena[{{0|64}}] life [0, 2)
  // CONSERVATIVE: %[[NEW:.*]] = ge.slot %arena[{{0|64}}] life [1, 3)
  // CONSERVATIVE-NEXT: ge.launch ins(%a{{.*}}) outs(%[[NEW]]
  // CONSERVATIVE: %v = memref.reinterpret_cast %[[NEW]]
  %a = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<16xf32>
  "memref.copy"(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  ge.launch ins(%a : memref<16xf32>) outs(%a : memref<16xf32>) {
  ^bb0(%0: tensor<16xf32>):
    %1 = ge.relu %0 : tensor<16xf32> -> tensor<16xf32>
    ge.yield %1 : tensor<16xf32>
  }
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<16xf32> to memref<4x4xf32>
  "memref.copy"(%v, %y) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  func.return
}

// Two large tensors, each of which only gives a small one: one after the other, one large one is alive at a time.
// 2 x 256 + 64 B in the order given, 256 + 2 x 64 B the other way.
// CHECK-LABEL: @order
// CHECK-SAME: memref<576xi8>
// AGGRESSIVE-LABEL: @order
// AGGRESSIVE-SAME: memref<320xi8>
func.func @order(%x: memref<64xf32>, %y: memref<1xf32> {ge.result}, %arena: memref<640xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // AGGRESSIVE: ins(%x{{.*}}) outs(%a
  // AGGRESSIVE: ins(%a{{.*}}) outs(%c
  // AGGRESSIVE: ins(%x{{.*}}) outs(%b
  // AGGRESSIVE: ins(%b{{.*}}) outs(%d
  // AGGRESSIVE: func.return
  %a = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<64xf32>
  ge.launch ins(%x : memref<64xf32>) outs(%a : memref<64xf32>) {
  ^bb0(%0: tensor<64xf32>):
    %1 = ge.exp %0 : tensor<64xf32> -> tensor<64xf32>
    ge.yield %1 : tensor<64xf32>
  }
  %b = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<64xf32>
  ge.launch ins(%x : memref<64xf32>) outs(%b : memref<64xf32>) {
  ^bb0(%0: tensor<64xf32>):
    %1 = ge.relu %0 : tensor<64xf32> -> tensor<64xf32>
    ge.yield %1 : tensor<64xf32>
  }
  %c = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<1xf32>
  ge.launch ins(%a : memref<64xf32>) outs(%c : memref<1xf32>) {
  ^bb0(%0: tensor<64xf32>):
    %1 = ge.reduce_sum %0 : tensor<64xf32> -> tensor<1xf32>
    ge.yield %1 : tensor<1xf32>
  }
  %d = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<1xf32>
  ge.launch ins(%b : memref<64xf32>) outs(%d : memref<1xf32>) {
  ^bb0(%0: tensor<64xf32>):
    %1 = ge.reduce_sum %0 : tensor<64xf32> -> tensor<1xf32>
    ge.yield %1 : tensor<1xf32>
  }
  ge.launch ins(%c, %d : memref<1xf32>, memref<1xf32>) outs(%y : memref<1xf32>) {
  ^bb0(%0: tensor<1xf32>, %1: tensor<1xf32>):
    %2 = ge.add %0, %1 : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
    ge.yield %2 : tensor<1xf32>
  }
  func.return
}

// Slots of one block are one buffer: a [0, 1) and b [2, 3) share its 128 bytes, though c [1, 2) between them could have
// lain there too. Alone they would need 128 bytes, as one 192: 128 + 64.
// CHECK-LABEL: @blocks
// CHECK-SAME: %arena: memref<192xi8>
// NONE-LABEL: @blocks
// NONE-SAME: %arena: memref<320xi8>
func.func @blocks(%x: memref<32xf32>, %y: memref<32xf32> {ge.result}, %arena: memref<640xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // CHECK: %a = ge.slot %arena[0] life [0, 1) block 1
  // CHECK: %c = ge.slot %arena[128] life [1, 2) :
  // CHECK: %b = ge.slot %arena[0] life [2, 3) block 1
  %a = ge.slot %arena[0] life [0, 1) block 1 : memref<640xi8> -> memref<32xf32>
  ge.launch ins(%x : memref<32xf32>) outs(%a : memref<32xf32>) {
  ^bb0(%0: tensor<32xf32>):
    %1 = ge.relu %0 : tensor<32xf32> -> tensor<32xf32>
    ge.yield %1 : tensor<32xf32>
  }
  %c = ge.slot %arena[0] life [0, 1) : memref<640xi8> -> memref<1xf32>
  ge.launch ins(%x : memref<32xf32>) outs(%c : memref<1xf32>) {
  ^bb0(%0: tensor<32xf32>):
    %1 = ge.reduce_sum %0 : tensor<32xf32> -> tensor<1xf32>
    ge.yield %1 : tensor<1xf32>
  }
  %b = ge.slot %arena[0] life [0, 1) block 1 : memref<640xi8> -> memref<32xf32>
  ge.launch ins(%x : memref<32xf32>) outs(%b : memref<32xf32>) {
  ^bb0(%0: tensor<32xf32>):
    %1 = ge.relu %0 : tensor<32xf32> -> tensor<32xf32>
    ge.yield %1 : tensor<32xf32>
  }
  func.return
}

// On tensors there is nothing to plan.
// CHECK-LABEL: @tensors
// CHECK-NEXT: ge.relu
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ge.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
