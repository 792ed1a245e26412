// RUN: ge-opt --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @nobody_reads
func.func @nobody_reads(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ge.relu %x
  // CHECK-NEXT: func.return
  %k = ge.constant dense<1.0> : tensor<f32>
  %a = ge.add %x, %k : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %b = ge.exp %a : tensor<4xf32> -> tensor<4xf32>
  %y = ge.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// What is not known to be pure stays, with all that it reads.
// CHECK-LABEL: @effects
func.func @effects(%x: tensor<4xf32>, %c: tensor<i1>) {
  // CHECK-NEXT: %a = ge.exp %x
  // CHECK-NEXT: ge.opaque "Print"
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = ge.opaque "Print" domain "acme" version 1 (%a) : (tensor<4xf32>) -> (tensor<4xf32>)
  %p = ge.opaque "NonZero" version 13 pure (%x) : (tensor<4xf32>) -> (tensor<1x?xi64>)
  // CHECK-NEXT: %d = ge.if %c
  // CHECK-NEXT:   ge.opaque "Print"
  // CHECK-NEXT:   ge.yield %x
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   ge.yield %x
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return
  %d = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
    %e = ge.opaque "Print" domain "acme" version 1 (%x) : (tensor<4xf32>) -> (tensor<4xf32>)
    ge.yield %x : tensor<4xf32>
  } else {
    %u = ge.neg %x : tensor<4xf32> -> tensor<4xf32>
    ge.yield %x : tensor<4xf32>
  }
  %g = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
    ge.yield %x : tensor<4xf32>
  } else {
    ge.yield %x : tensor<4xf32>
  }
  func.return
}

// A fusion keeps the results that are read and the operands that its body reads; what only they needed goes too.
// CHECK-LABEL: @fusions
func.func @fusions(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = ge.fusion "f" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) tiling #ge.l2_tiling
  // CHECK-SAME:   attributes {note = 1 : i64} {
  // CHECK-NEXT:   %[[R:.*]] = ge.relu %a
  // CHECK-NEXT:   ge.yield %[[R]] : tensor<4xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %[[Y]]
  %k = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %0, %1, %2 = ge.fusion "f" (%a = %x : tensor<4xf32>, %b = %k : tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 2, weights = resident, working_set = 32, bytes_before = 64,
                           bytes_after = 32, hit_share = 1.0> attributes {note = 1 : i64} {
    %3 = ge.neg %b : tensor<4xf32> -> tensor<4xf32>
    %4 = ge.relu %a : tensor<4xf32> -> tensor<4xf32>
    ge.yield %3, %4, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %dead = ge.fusion "g" (%a = %k : tensor<4xf32>) -> (tensor<4xf32>) {
    ge.yield %a : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// A fusion that prints stays for that, without results.
// CHECK-LABEL: @a_fusion_with_effects
// CHECK:         ge.fusion "f" (%a = %x : tensor<4xf32>) -> () {
// CHECK-NEXT:      ge.opaque "Print"
// CHECK-NEXT:      ge.yield
func.func @a_fusion_with_effects(%x: tensor<4xf32>) {
  %0 = ge.fusion "f" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    ge.opaque "Print" domain "acme" version 1 (%a) : (tensor<4xf32>) -> ()
    %1 = ge.exp %a : tensor<4xf32> -> tensor<4xf32>
    ge.yield %1 : tensor<4xf32>
  }
  func.return
}
