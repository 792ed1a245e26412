// RUN: ge-opt --ge-bufferize --verify-each %s | filecheck %s
// RUN: ge-opt --ge-bufferize="in-place=false" --verify-each %s | filecheck %s --check-prefix=APART
// RUN: ge-opt --ge-bufferize="views=false" --verify-each %s | filecheck %s --check-prefix=NO-VIEW

// Inputs, then the caller's buffers for the results, then the arena. What is returned is computed straight into the
// caller's buffer; what is not gets a slot.
// CHECK-LABEL: @one_slot
// CHECK-SAME: (%x: memref<2x4xf32> {onnx.name = "x"}, %w: memref<4x3xf32>, %y: memref<2x3xf32> {ge.result, onnx.name = "y"}, %arena: memref<64xi8> {ge.arena, ge.alignment = 64 : i64}) attributes {ge.arena_bound = 64 : i64}
func.func @one_slot(%x: tensor<2x4xf32> {onnx.name = "x"}, %w: tensor<4x3xf32>) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  // CHECK-NEXT: %a = ge.slot %arena[0] life [0, 2) : memref<64xi8> -> memref<2x4xf32>
  // CHECK-NEXT: ge.launch ins(%x : memref<2x4xf32>) outs(%a : memref<2x4xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x4xf32>):
  // CHECK-NEXT:   ge.exp {{.*}} onnx "Exp_0" ["a"]
  // CHECK-NEXT:   ge.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: ge.launch ins(%a, %w : memref<2x4xf32>, memref<4x3xf32>) outs(%y : memref<2x3xf32>) {
  // CHECK:      func.return{{$}}
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32> onnx "Exp_0" ["a"]
  %y = ge.matmul %a, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Relu reads an index no later than it writes it, and nobody reads %a after it: one slot for both.
// CHECK-LABEL: @in_place
// APART-LABEL: @in_place
func.func @in_place(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      %a = ge.slot
  // CHECK-NEXT: ge.launch ins(%x{{.*}}) outs(%a
  // CHECK:      ge.launch ins(%a{{.*}}) outs(%a
  // CHECK:      ge.launch ins(%a{{.*}}) outs(%y
  // APART:      %b = ge.slot %arena[64]
  // APART-NEXT: ge.launch ins(%a{{.*}}) outs(%b
  %a = ge.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %b, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// Not over %a: the product reads it afterwards. Not over %x: it is the caller's.
// CHECK-LABEL: @operand_lives_on
func.func @operand_lives_on(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      %a = ge.slot %arena[0]
  // CHECK-NEXT: ge.launch ins(%x{{.*}}) outs(%a
  // CHECK:      %b = ge.slot %arena[64]
  // CHECK-NEXT: ge.launch ins(%a{{.*}}) outs(%b
  %a = ge.relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %b, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// A convolution's result does not lie over its input, but the fused addition reads %s index by index.
// CHECK-LABEL: @fusion_over_the_residual
func.func @fusion_over_the_residual(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2xf32> {
  // CHECK:      %s = ge.slot
  // CHECK:      %c = ge.slot
  // CHECK:      ge.launch ins(%c, %w, %s {{.*}}) outs(%s : memref<1x2x4x4xf32>) attributes {label = "ConvAdd"} {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   ge.conv
  // CHECK-NEXT:   ge.add
  // CHECK-NEXT:   ge.yield
  %s = ge.exp %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %c = ge.sigmoid %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %f = ge.fusion "ConvAdd" (%a = %c : tensor<1x2x4x4xf32>, %b = %w : tensor<2x2x1x1xf32>, %r = %s : tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>) {
    %0 = ge.conv %a, %b : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
    %1 = ge.add %0, %r : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
    ge.yield %1 : tensor<1x2x4x4xf32>
  }
  %axes = ge.constant dense<[2, 3]> : tensor<2xi64>
  %y = ge.reduce_sum %f, %axes keepdims 0 : tensor<1x2x4x4xf32>, tensor<2xi64> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// A view is the same bytes; its shape is not needed when the program runs. %a is computed into the caller's buffer
// through a view of it.
// CHECK-LABEL: @views
func.func @views(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<4x2xf32>) {
  // CHECK-NEXT: %[[A:.*]] = memref.reinterpret_cast %b to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xf32> to memref<2x4xf32>
  // CHECK-NEXT: ge.launch ins(%x{{.*}}) outs(%[[A]]
  // CHECK:      %[[C:.*]] = memref.reinterpret_cast %b to offset: [0], sizes: [4, 2], strides: [2, 1] : memref<8xf32> to memref<4x2xf32>
  // CHECK-NEXT: "memref.copy"(%[[C]], %c)
  %s = ge.constant dense<[8]> : tensor<1xi64>
  %t = ge.constant dense<[4, 2]> : tensor<2xi64>
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %b = ge.reshape %a, %s : tensor<2x4xf32>, tensor<1xi64> -> tensor<8xf32>
  %c = ge.reshape %b, %t : tensor<8xf32>, tensor<2xi64> -> tensor<4x2xf32>
  func.return %b, %c : tensor<8xf32>, tensor<4x2xf32>
}

// Not over %a while a view of it is still read.
// CHECK-LABEL: @view_lives_on
func.func @view_lives_on(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<1xf32>) {
  // CHECK: outs(%a
  // CHECK: %b = ge.slot
  // CHECK: ge.launch ins(%a{{.*}}) outs(%b
  %s = ge.constant dense<[16]> : tensor<1xi64>
  %axes = ge.constant dense<[0]> : tensor<1xi64>
  %a = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %v = ge.reshape %a, %s : tensor<4x4xf32>, tensor<1xi64> -> tensor<16xf32>
  %b = ge.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.matmul %b, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %z = ge.reduce_sum %v, %axes : tensor<16xf32>, tensor<1xi64> -> tensor<1xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<1xf32>
}

// Weights are mapped outside, once; what a shape may depend on, and scalars, go into each body.
// CHECK-LABEL: @constants
func.func @constants(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %w = ge.mapped #ge.splat<0.5> : memref<4x8xf32> onnx ["w"]
  // CHECK:      ge.launch ins(%x, %w
  // CHECK:      ge.launch ins(%
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   ge.constant dense<[1, 0]>
  // CHECK-NEXT:   ge.constant dense<[3, 4]>
  // CHECK-NEXT:   ge.constant dense<[0, 1]>
  // CHECK-NEXT:   ge.slice
  // CHECK:      ge.constant dense<2.0
  // CHECK-NEXT: ge.mul
  // CHECK:      ge.launch ins(%{{.*}}, %w
  %w = ge.constant #ge.splat<0.5> : tensor<4x8xf32> onnx ["w"]
  %two = ge.constant dense<2.0> : tensor<f32>
  %begin = ge.constant dense<[1, 0]> : tensor<2xi64>
  %end = ge.constant dense<[3, 4]> : tensor<2xi64>
  %axes = ge.constant dense<[0, 1]> : tensor<2xi64>
  %a = ge.matmul %x, %w : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %b = ge.slice %a, %begin, %end, %axes : tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64> -> tensor<2x4xf32>
  %c = ge.mul %b, %two : tensor<2x4xf32>, tensor<f32> -> tensor<2x4xf32>
  %d = ge.matmul %c, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %e = ge.transpose %d perm [1, 0] : tensor<2x8xf32> -> tensor<8x2xf32>
  %y = ge.matmul %w, %e : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %z = ge.matmul %y, %c : tensor<4x2xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}

// An input, a weight, and one value twice: copies into buffers of their own.
// CHECK-LABEL: @copies
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<32xf32>) {
  // CHECK:      ge.launch ins(%x{{.*}}) outs(%[[A:.*]] : memref<4xf32>) {
  // CHECK:      "memref.copy"(%x, %{{.*}})
  // CHECK-NEXT: "memref.copy"(%[[A]], %{{.*}})
  // CHECK-NEXT: %[[W:.*]] = ge.mapped
  // CHECK-NEXT: "memref.copy"(%[[W]], %{{.*}})
  %w = ge.constant #ge.splat<0.5> : tensor<32xf32>
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %x, %a, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<32xf32>
}

// How many indices there are depends on data: that, and what follows from it, runs on the host and is returned as it is.
// CHECK-LABEL: @on_the_host
// CHECK-SAME: %x: memref<4xf32>, %[[B:.*]]: memref<4xf32> {ge.result, onnx.name = "b"}, %arena: {{.*}}) -> (tensor<?x1xi64> {onnx.name = "t"})
func.func @on_the_host(%x: tensor<4xf32>) -> (tensor<?x1xi64> {onnx.name = "t"}, tensor<4xf32> {onnx.name = "b"}) {
  // CHECK:      ge.launch ins(%x{{.*}}) outs(%a
  // CHECK:      %t = ge.host (%{{.*}} = %a : memref<4xf32>) -> (tensor<?x1xi64>) {
  // CHECK-NEXT:   ge.opaque "NonZero"
  // CHECK-NEXT:   ge.transpose
  // CHECK-NEXT:   ge.yield
  // CHECK:      ge.launch ins(%a{{.*}}) outs(%[[B]]
  // CHECK:      func.return %t : tensor<?x1xi64>
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %n = ge.opaque "NonZero" version 13 pure (%a) : (tensor<4xf32>) -> (tensor<1x?xi64>)
  %t = ge.transpose %n perm [1, 0] : tensor<1x?xi64> -> tensor<?x1xi64>
  %b = ge.relu %a : tensor<4xf32> -> tensor<4xf32>
  func.return %t, %b : tensor<?x1xi64>, tensor<4xf32>
}

// An L2 group of one tile runs as its members, layer by layer: three launches.
// CHECK-LABEL: @group
func.func @group(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:     ge.launch ins(%x, %w
  // CHECK:       ge.matmul
  // CHECK:     ge.launch
  // CHECK:       ge.relu
  // CHECK:     ge.launch ins({{.*}}, %w
  // CHECK:       ge.matmul
  // CHECK-NOT: ge.fusion
  %y = ge.fusion "group" (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>) -> (tensor<4x4xf32>) tiling #ge.l2_tiling<axes = [0], tile = [4], tiles = 1, weights = resident, working_set = 128, bytes_before = 256, bytes_after = 192, hit_share = 1.0> {
    %0 = ge.fusion "MatMulRelu" (%c = %a : tensor<4x4xf32>, %d = %b : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
      %2 = ge.matmul %c, %d : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      ge.yield %2 : tensor<4x4xf32>
    }
    %1 = ge.relu %0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %3 = ge.matmul %1, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %3 : tensor<4x4xf32>
  }
  func.return %y : tensor<4x4xf32>
}

// Nothing to do for what is on buffers already.
// CHECK-LABEL: @again
// CHECK-SAME: (%x: memref<4xf32>, %y: memref<4xf32> {ge.result}, %arena: memref<0xi8> {ge.arena, ge.alignment = 64 : i64}) {
func.func @again(%x: memref<4xf32>, %y: memref<4xf32> {ge.result}, %arena: memref<0xi8> {ge.arena, ge.alignment = 64 : i64}) {
  // CHECK-NEXT: "memref.copy"(%x, %y)
  // CHECK-NEXT: func.return
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// Without views a reshape, a part and a weight in another order are launches with slots of their own, as any op. %a and
// %b are 64 bytes, %c 64 (32 rounded up), %t 128: 64 with views, and without them 64 + 128 when %t is made.
// CHECK-LABEL: @views_or_not
// CHECK-SAME: ge.arena_bound = 64
// NO-VIEW-LABEL: @views_or_not
// NO-VIEW-SAME: ge.arena_bound = 192
func.func @views_or_not(%x: tensor<4x4xf32>) -> tensor<1x4xf32> {
  // CHECK:      ge.launch ins(%x {{.*}} outs(%a
  // CHECK:      %b = memref.reinterpret_cast %a
  // CHECK-NEXT: %c = memref.subview %b
  // CHECK:      %t = memref.reinterpret_cast %w
  // CHECK-NEXT: ge.launch ins(%c, %t {{.*}} outs(%y
  // NO-VIEW:     ge.launch ins(%x {{.*}} outs(%a
  // NO-VIEW:     ge.launch ins(%a {{.*}} outs(%b
  // NO-VIEW:     ge.launch ins(%b {{.*}} outs(%c
  // NO-VIEW:     ge.launch ins(%w {{.*}} outs(%t
  // NO-VIEW:     ge.launch ins(%c, %t {{.*}} outs(%y
  // NO-VIEW-NOT: memref.subview
  %s = ge.constant dense<[2, 8]> : tensor<2xi64>
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %w = ge.constant #ge.splat<0.5> : tensor<4x8xf32>
  %a = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %b = ge.reshape %a, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<2x8xf32>
  %c = ge.slice %b, %0, %1 : tensor<2x8xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x8xf32>
  %t = ge.transpose %w perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %y = ge.matmul %c, %t : tensor<1x8xf32>, tensor<8x4xf32> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// How an op walks goes to its launch, and is no part of what the launch computes.
// CHECK-LABEL: @kernel_tiles
func.func @kernel_tiles(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK:      ge.launch ins(%x {{.*}} outs(%a {{.*}} attributes {ge.kernel_tile = #ge.kernel_tile<axis = 0, size = 2>} {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   %{{.*}} = ge.matmul %{{[^ ]+}}, %{{[^ ]+}} :
  // CHECK:      ge.launch ins(%a {{.*}} outs(%y {{.*}} attributes {ge.kernel_tile = #ge.kernel_tile<axis = 1, size = 3>, label = "f"} {
  %a = ge.matmul %x, %x attributes {ge.kernel_tile = #ge.kernel_tile<axis = 0, size = 2>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.fusion "f" (%b = %a : tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {ge.kernel_tile = #ge.kernel_tile<axis = 1, size = 3>} {
    %c = ge.exp %b : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %c : tensor<4x4xf32>
  }
  func.return %y : tensor<4x4xf32>
}
