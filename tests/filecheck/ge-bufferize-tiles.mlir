// RUN: ge-opt --ge-bufferize --memory-reuse %s | filecheck %s

// Five samples in tiles of two: two tiles in a loop, the last sample after it. What only a tile sees (%b) is a slot of
// two samples inside the loop, 2 * 4 * 4 B = 32 B, alive between its two launches [0, 2), and another of one sample
// behind it, [2, 4), at the same place.
// CHECK-LABEL: @batch_tiles
// CHECK:         %arena: memref<64xi8>
// CHECK:         ge.slot %arena[0] life [0, 2) block 1 : memref<64xi8> -> memref<2x4xf32>
// CHECK:         scf.for
// CHECK-NEXT:      arith.muli
// CHECK-NEXT:      memref.subview %x[%{{.*}}, 0] [2, 4] [1, 1]
// CHECK-NEXT:      ge.launch
// CHECK:             ge.exp {{.*}} tensor<2x4xf32>
// CHECK:           memref.subview %y[%{{.*}}, 0] [2, 4] [1, 1]
// CHECK-NEXT:      ge.launch
// CHECK:             ge.relu {{.*}} tensor<2x4xf32>
// CHECK:         ge.slot %arena[0] life [2, 4) block 1 : memref<64xi8> -> memref<1x4xf32>
// CHECK:         memref.subview %x[4, 0] [1, 4] [1, 1]
// CHECK:           ge.exp {{.*}} tensor<1x4xf32>
// CHECK:         memref.subview %y[4, 0] [1, 4] [1, 1]
// CHECK:           ge.relu {{.*}} tensor<1x4xf32>
// CHECK-NOT:     scf.for
func.func @batch_tiles(%x: tensor<5x4xf32> {onnx.name = "x"}) -> (tensor<5x4xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<5x4xf32>) -> (tensor<5x4xf32>) tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 3, weights = resident, working_set = 96, bytes_before = 320, bytes_after = 160, hit_share = 1.0> {
    %b = ge.exp %a : tensor<5x4xf32> -> tensor<5x4xf32>
    %c = ge.relu %b : tensor<5x4xf32> -> tensor<5x4xf32>
    ge.yield %c : tensor<5x4xf32>
  }
  func.return %0 : tensor<5x4xf32>
}

// A group that cannot be cut as it says (softmax needs all rows of its axis) is launched layer by layer.
// CHECK-LABEL: @layer_by_layer
// CHECK-NOT:     scf.for
// CHECK:         ge.softmax
// CHECK:         ge.relu
func.func @layer_by_layer(%x: tensor<4x4xf32> {onnx.name = "x"}) -> (tensor<4x4xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 2, weights = resident, working_set = 96, bytes_before = 320, bytes_after = 160, hit_share = 1.0> {
    %b = ge.softmax %a axis 0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %c = ge.relu %b : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %c : tensor<4x4xf32>
  }
  func.return %0 : tensor<4x4xf32>
}

// A join inside of a tile is where its operands are computed: %b by its launch, and %x, which is not of the tile, by a copy.
// CHECK-LABEL: @join_in_a_tile
// CHECK:         [[JOINED:%.*]] = ge.slot %arena[{{.*}}] life [{{.*}}) block 1 : memref<{{.*}}> -> memref<1x4x8xf32>
// CHECK:         [[SECOND:%.*]] = memref.subview [[JOINED]][0, 2, 0] [1, 2, 8]
// CHECK:         scf.for
// CHECK:           ge.launch ins({{.*}}) outs([[SECOND]]
// CHECK:             ge.exp
// CHECK:           [[FIRST:%.*]] = memref.subview [[JOINED]][0, 0, 0] [1, 2, 8]
// CHECK-NEXT:      "memref.copy"({{.*}}, [[FIRST]])
// CHECK-NOT:       ge.concat
// CHECK:           ge.launch ins([[JOINED]]
// CHECK:             ge.softmax
func.func @join_in_a_tile(%x: tensor<3x2x8xf32> {onnx.name = "x"}) -> (tensor<3x4x8xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<3x2x8xf32>) -> (tensor<3x4x8xf32>) tiling #ge.l2_tiling<axes = [0], tile = [1], tiles = 3, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %b = ge.exp %a : tensor<3x2x8xf32> -> tensor<3x2x8xf32>
    %c = ge.concat %a, %b axis 1 : tensor<3x2x8xf32>, tensor<3x2x8xf32> -> tensor<3x4x8xf32>
    %d = ge.softmax %c axis 1 : tensor<3x4x8xf32> -> tensor<3x4x8xf32>
    ge.yield %d : tensor<3x4x8xf32>
  }
  func.return %0 : tensor<3x4x8xf32>
}
