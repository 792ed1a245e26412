// RUN: ge-opt --l2-fusion="l2-size=8 cache=hints" --verify-each %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=48 cache=hints" %s | filecheck %s --check-prefix=LARGE
// RUN: ge-opt --l2-fusion="l2-size=8 cache=hints" --ge-bufferize --memory-reuse %s | filecheck %s --check-prefix=LOOPS

// Four images of 64 x 256 x 256 x 2 = 8388608 B. In 8 MiB not one fits with what comes out, so rows of each image run
// together: the input, the output and the weights (64 * 64 * 9 * 2 = 73728 B) move once, 2 * 4 * 8388608 + 73728 B. In
// 48 MiB all values of an image fit, and nothing overlaps.
// CHECK-LABEL: @two_convolutions
// CHECK-SAME:    judge_after = 67182592 : i64
// CHECK:         ge.fusion "L2"
// CHECK-SAME:      tiling #ge.l2_tiling<axes = [0, 2], tile = [1, 43], tiles = 24, halo = recompute, weights = resident,
// LARGE-LABEL: @two_convolutions
// LARGE:         ge.fusion "L2"
// LARGE-SAME:      tiling #ge.l2_tiling<axes = [0], tile = [1], tiles = 4, weights = resident,
// LOOPS-LABEL: @two_convolutions
// LOOPS:         scf.for %round =
// LOOPS:           ge.conv {{.*}} pads [1, 1, 0, 1]
// LOOPS:           scf.for %tile =
// LOOPS:             ge.conv {{.*}} pads [0, 1, 0, 1]
// LOOPS:           ge.conv {{.*}} pads [0, 1, 1, 1]
// LOOPS:         func.return
func.func @two_convolutions(%x: tensor<4x64x256x256xf16> {onnx.name = "x"}, %w: tensor<64x64x3x3xf16>) -> (tensor<4x64x256x256xf16> {onnx.name = "y"}) {
  %0 = ge.conv %x, %w pads [1, 1, 1, 1] : tensor<4x64x256x256xf16>, tensor<64x64x3x3xf16> -> tensor<4x64x256x256xf16>
  %1 = ge.conv %0, %w pads [1, 1, 1, 1] : tensor<4x64x256x256xf16>, tensor<64x64x3x3xf16> -> tensor<4x64x256x256xf16>
  %2 = ge.relu %1 : tensor<4x64x256x256xf16> -> tensor<4x64x256x256xf16>
  func.return %2 : tensor<4x64x256x256xf16>
}
