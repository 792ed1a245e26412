// RUN: ge-opt --ge-bufferize --memory-reuse %s | filecheck %s

// Rows [0, 4), [4, 8), [8, 12) of 12. A window of three needs a row more at each side, but at the borders, where it
// lies in the padding: rows [0, 5), [3, 9), [7, 12) of %x. Each border is a tile of its own, with its own pads.
// CHECK-LABEL: @one_window
// CHECK:         memref.subview %x[0, 0, 0, 0] [1, 2, 5, 8]
// CHECK:         ge.conv {{.*}} pads [1, 1, 0, 1] {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:         memref.subview %y[0, 0, 0, 0] [1, 2, 4, 8]
// CHECK:         memref.subview %x[0, 0, 3, 0] [1, 2, 6, 8]
// CHECK:         ge.conv {{.*}} pads [0, 1, 0, 1] {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:         memref.subview %x[0, 0, 7, 0] [1, 2, 5, 8]
// CHECK:         ge.conv {{.*}} pads [0, 1, 1, 1] {{.*}} -> tensor<1x2x4x8xf32>
func.func @one_window(%x: tensor<1x2x12x8xf32> {onnx.name = "x"}, %w: tensor<2x2x3x3xf32>) -> (tensor<1x2x12x8xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<1x2x12x8xf32>, %b = %w : tensor<2x2x3x3xf32>) -> (tensor<1x2x12x8xf32>) tiling #ge.l2_tiling<axes = [2], tile = [4], tiles = 3, halo = recompute, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.conv %a, %b pads [1, 1, 1, 1] : tensor<1x2x12x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x12x8xf32>
    %d = ge.relu %c : tensor<1x2x12x8xf32> -> tensor<1x2x12x8xf32>
    ge.yield %d : tensor<1x2x12x8xf32>
  }
  func.return %0 : tensor<1x2x12x8xf32>
}

// Two windows in a row, 16 rows: inside, four rows of the result need six of what lies between, and eight of %x, from
// row 4 i - 2 on.
// CHECK-LABEL: @two_windows
// CHECK:         scf.for %tile = %{{.*}} to
// CHECK-NEXT:      [[AT:%.*]] = arith.muli %tile, %{{.*}} : index
// CHECK-NEXT:      [[MINUS_2:%.*]] = arith.constant -2 : index
// CHECK-NEXT:      [[BEGIN:%.*]] = arith.addi [[AT]], [[MINUS_2]] : index
// CHECK-NEXT:      memref.subview %x[0, 0, [[BEGIN]], 0] [1, 2, 8, 8]
// CHECK:           ge.conv {{.*}} -> tensor<1x2x6x8xf32>
// CHECK:           ge.conv {{.*}} -> tensor<1x2x4x8xf32>
func.func @two_windows(%x: tensor<1x2x16x8xf32> {onnx.name = "x"}, %w: tensor<2x2x3x3xf32>) -> (tensor<1x2x16x8xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<1x2x16x8xf32>, %b = %w : tensor<2x2x3x3xf32>) -> (tensor<1x2x16x8xf32>) tiling #ge.l2_tiling<axes = [2], tile = [4], tiles = 4, halo = recompute, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.conv %a, %b pads [1, 1, 1, 1] : tensor<1x2x16x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x16x8xf32>
    %d = ge.conv %c, %b pads [1, 1, 1, 1] : tensor<1x2x16x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x16x8xf32>
    ge.yield %d : tensor<1x2x16x8xf32>
  }
  func.return %0 : tensor<1x2x16x8xf32>
}

// The same with lines kept: the last two of six rows move to the front, and four come new, of six rows of %x. The slot
// lives from before the loop, where it takes the lines of the first tile, until after it, where the last tile takes them.
// CHECK-LABEL: @kept_lines
// CHECK:         ge.slot %arena[{{.*}}] life [0, 3) block 1 : memref<{{.*}}> -> memref<1x2x5x8xf32>
// CHECK:         ge.conv {{.*}} -> tensor<1x2x5x8xf32>
// CHECK:         [[LINES:%.*]] = ge.slot %arena[{{.*}}] life [2, 7) block 1 : memref<{{.*}}> -> memref<1x2x6x8xf32>
// CHECK:         memref.copy
// CHECK:         scf.for
// CHECK-NEXT:      [[LAST:%.*]] = memref.subview [[LINES]][0, 0, 4, 0] [1, 2, 2, 8]
// CHECK-NEXT:      [[FIRST:%.*]] = memref.subview [[LINES]][0, 0, 0, 0] [1, 2, 2, 8]
// CHECK-NEXT:      "memref.copy"([[LAST]], [[FIRST]])
// CHECK:           memref.subview %x[0, 0, %{{.*}}, 0] [1, 2, 6, 8]
// CHECK-NEXT:      memref.subview [[LINES]][0, 0, 2, 0] [1, 2, 4, 8]
// CHECK:           ge.conv {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:           ge.launch ins([[LINES]],
func.func @kept_lines(%x: tensor<1x2x16x8xf32> {onnx.name = "x"}, %w: tensor<2x2x3x3xf32>) -> (tensor<1x2x16x8xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<1x2x16x8xf32>, %b = %w : tensor<2x2x3x3xf32>) -> (tensor<1x2x16x8xf32>) tiling #ge.l2_tiling<axes = [2], tile = [4], tiles = 4, halo = lines, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.conv %a, %b pads [1, 1, 1, 1] : tensor<1x2x16x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x16x8xf32>
    %d = ge.conv %c, %b pads [1, 1, 1, 1] : tensor<1x2x16x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x16x8xf32>
    ge.yield %d : tensor<1x2x16x8xf32>
  }
  func.return %0 : tensor<1x2x16x8xf32>
}

// Stride 2: rows [4 i, 4 i + 4) of the result need rows [8 i - 1, 8 i + 8) of %x; of 22 rows the last tile has two.
// CHECK-LABEL: @stride_and_a_short_last_tile
// CHECK:         memref.subview %x[0, 0, 0, 0] [1, 2, 8, 8]
// CHECK:         scf.for
// CHECK:           arith.constant -1 : index
// CHECK:           memref.subview %x[0, 0, %{{.*}}, 0] [1, 2, 9, 8]
// CHECK:         memref.subview %x[0, 0, 39, 0] [1, 2, 5, 8]
// CHECK:         ge.conv {{.*}} pads [0, 1, 0, 1] {{.*}} -> tensor<1x2x2x4xf32>
func.func @stride_and_a_short_last_tile(%x: tensor<1x2x44x8xf32> {onnx.name = "x"}, %w: tensor<2x2x3x3xf32>) -> (tensor<1x2x22x4xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<1x2x44x8xf32>, %b = %w : tensor<2x2x3x3xf32>) -> (tensor<1x2x22x4xf32>) tiling #ge.l2_tiling<axes = [2], tile = [4], tiles = 6, halo = recompute, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.conv %a, %b strides [2, 2] pads [1, 1, 1, 1] : tensor<1x2x44x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x22x4xf32>
    %d = ge.relu %c : tensor<1x2x22x4xf32> -> tensor<1x2x22x4xf32>
    ge.yield %d : tensor<1x2x22x4xf32>
  }
  func.return %0 : tensor<1x2x22x4xf32>
}

// Two samples of 16 rows, one after the other, four rows of each at a time: the loop over samples holds a tile for each
// border and the loop over the rows inside, from row 4 i - 1 of the sample on.
// CHECK-LABEL: @rows_of_each_sample
// CHECK:         scf.for %round = %{{.*}} to
// CHECK:           memref.subview %x[%round, 0, 0, 0] [1, 2, 5, 8]
// CHECK:           ge.conv {{.*}} pads [1, 1, 0, 1] {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:           memref.subview %y[%round, 0, 0, 0] [1, 2, 4, 8]
// CHECK:           scf.for %tile = %{{.*}} to
// CHECK:             arith.constant -1 : index
// CHECK:             memref.subview %x[%{{.*}}, 0, %{{.*}}, 0] [1, 2, 6, 8]
// CHECK:             ge.conv {{.*}} pads [0, 1, 0, 1] {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:             memref.subview %y[%{{.*}}, 0, %{{.*}}, 0] [1, 2, 4, 8]
// CHECK:             }
// CHECK:           memref.subview %x[%{{.*}}, 0, 11, 0] [1, 2, 5, 8]
// CHECK:           ge.conv {{.*}} pads [0, 1, 1, 1] {{.*}} -> tensor<1x2x4x8xf32>
// CHECK:           }
func.func @rows_of_each_sample(%x: tensor<2x2x16x8xf32> {onnx.name = "x"}, %w: tensor<2x2x3x3xf32>) -> (tensor<2x2x16x8xf32> {onnx.name = "y"}) {
  %0 = ge.fusion "L2" (%a = %x : tensor<2x2x16x8xf32>, %b = %w : tensor<2x2x3x3xf32>) -> (tensor<2x2x16x8xf32>) tiling #ge.l2_tiling<axes = [0, 2], tile = [1, 4], tiles = 8, halo = recompute, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.conv %a, %b pads [1, 1, 1, 1] : tensor<2x2x16x8xf32>, tensor<2x2x3x3xf32> -> tensor<2x2x16x8xf32>
    %d = ge.relu %c : tensor<2x2x16x8xf32> -> tensor<2x2x16x8xf32>
    ge.yield %d : tensor<2x2x16x8xf32>
  }
  func.return %0 : tensor<2x2x16x8xf32>
}
