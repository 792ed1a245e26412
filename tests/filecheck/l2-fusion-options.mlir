// RUN: ge-opt --l2-fusion="l2-size=32" %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32 cache=hints" %s | filecheck %s --check-prefix=HINTS
// RUN: ge-opt -O3 --l2-fusion="l2-size=32" %s | filecheck %s --check-prefix=FUSED
// RUN: ge-opt --l2-fusion="l2-size=32 blacklist=Softmax,LayerNorm" %s | filecheck %s --check-prefix=BARRED
// RUN: ge-opt --l2-fusion="l2-size=32 fusion-threshold=0.95" %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32 fusion-threshold=0.5" %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32" --statistics %s -o %t.mlir 2>&1 | filecheck %s --check-prefix=SAID

// RUN: sed -e "s/32x128x4096xf16/?x128x4096xf16/g" %s > %t.free.mlir
// RUN: not ge-opt --l2-fusion %t.free.mlir 2>&1 | filecheck %s --check-prefix=FREE

// Other errors: tests/unit/tools/test_l2_errors.py.
// FREE:    ge-opt: error: input 'input_0' is tensor<?x128x4096xf16> with a dim free: tiles are planned for static shapes; give --input-shape=input_0:?,128,4096

// SAID:      3  l2-fusion: groups
// SAID-NEXT: {{[0-9]+}}  l2-fusion: bytes from and to memory without groups, modelled
// SAID-NEXT: {{[0-9]+}}  l2-fusion: bytes with groups, modelled
// SAID-NEXT: {{[0-9]+}}  l2-fusion: bytes of every input, weight and result once

// 32 samples of 128 x 4096 f16, 32 MiB a value: normalised and weighed tile by tile. The brief's blacklist takes both
// operators out, and what is left has nothing to meet.
// CHECK-LABEL: @normalised
// CHECK:         ge.fusion "L2"
// CHECK-NEXT:      ge.layer_normalization
// CHECK-NEXT:      ge.softmax
// CHECK-NEXT:      ge.relu
// BARRED-LABEL: @normalised
// BARRED-NOT:     ge.fusion
// BARRED:         func.return
func.func @normalised(%x: tensor<32x128x4096xf16>) -> tensor<32x128x4096xf16> {
  %s = ge.constant #ge.splat<1.0> : tensor<4096xf16>
  %0 = ge.layer_normalization %x, %s axis -1 : tensor<32x128x4096xf16>, tensor<4096xf16> -> tensor<32x128x4096xf16>
  %1 = ge.softmax %0 : tensor<32x128x4096xf16> -> tensor<32x128x4096xf16>
  %2 = ge.relu %1 : tensor<32x128x4096xf16> -> tensor<32x128x4096xf16>
  func.return %2 : tensor<32x128x4096xf16>
}

// The bottleneck at batch 8: 12.8 MB a value. Where the cache knows what is dead, nothing has to leave it.
// Nor, with operators fused as they are by -O3, where it does not.
// FUSED-LABEL: @eight_samples
// FUSED-NOT:     ge.fusion "L2"
// FUSED:         func.return
// HINTS-LABEL: @eight_samples
// HINTS-NOT:     ge.fusion
// HINTS:         func.return
func.func @eight_samples(%x: tensor<8x256x56x56xf16>) -> tensor<8x256x56x56xf16> {
  %w1 = ge.constant #ge.splat<0.5> : tensor<64x256x1x1xf16>
  %w2 = ge.constant #ge.splat<0.5> : tensor<64x64x3x3xf16>
  %w3 = ge.constant #ge.splat<0.5> : tensor<256x64x1x1xf16>
  %0 = ge.conv %x, %w1 : tensor<8x256x56x56xf16>, tensor<64x256x1x1xf16> -> tensor<8x64x56x56xf16>
  %1 = ge.relu %0 : tensor<8x64x56x56xf16> -> tensor<8x64x56x56xf16>
  %2 = ge.conv %1, %w2 pads [1, 1, 1, 1] : tensor<8x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<8x64x56x56xf16>
  %3 = ge.relu %2 : tensor<8x64x56x56xf16> -> tensor<8x64x56x56xf16>
  %4 = ge.conv %3, %w3 : tensor<8x64x56x56xf16>, tensor<256x64x1x1xf16> -> tensor<8x256x56x56xf16>
  %5 = ge.add %4, %x : tensor<8x256x56x56xf16>, tensor<8x256x56x56xf16> -> tensor<8x256x56x56xf16>
  %6 = ge.relu %5 : tensor<8x256x56x56xf16> -> tensor<8x256x56x56xf16>
  func.return %6 : tensor<8x256x56x56xf16>
}

// No samples, no tiles; and a function that is elsewhere has none either.
// CHECK-LABEL: @empty
// CHECK-NOT:     ge.fusion
// CHECK:         func.return
// CHECK:       func.func private @elsewhere
func.func @empty(%x: tensor<0x8x32x32xf32>) -> tensor<0x8x32x32xf32> {
  %0 = ge.relu %x : tensor<0x8x32x32xf32> -> tensor<0x8x32x32xf32>
  %1 = ge.exp %0 : tensor<0x8x32x32xf32> -> tensor<0x8x32x32xf32>
  func.return %1 : tensor<0x8x32x32xf32>
}
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>

// One image of 1024 x 1024 has no batch, but rows: two windows in a row need what their neighbours compute.
// CHECK-LABEL: @rows
// CHECK:         ge.fusion "L2"
// CHECK-SAME:      tiling #ge.l2_tiling<axes = [2], tile = [{{[0-9]+}}], tiles = {{[0-9]+}}, halo = {{recompute|lines}}, weights = resident
// CHECK-COUNT-2:   ge.conv
func.func @rows(%x: tensor<1x32x1024x1024xf16>) -> tensor<1x32x1024x1024xf16> {
  %w = ge.constant #ge.splat<0.5> : tensor<32x32x3x3xf16>
  %0 = ge.conv %x, %w pads [1, 1, 1, 1] : tensor<1x32x1024x1024xf16>, tensor<32x32x3x3xf16> -> tensor<1x32x1024x1024xf16>
  %1 = ge.conv %0, %w pads [1, 1, 1, 1] : tensor<1x32x1024x1024xf16>, tensor<32x32x3x3xf16> -> tensor<1x32x1024x1024xf16>
  func.return %1 : tensor<1x32x1024x1024xf16>
}
