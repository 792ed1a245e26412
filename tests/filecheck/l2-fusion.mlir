// RUN: ge-opt --l2-fusion="l2-size=32" --verify-each %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32" --l2-fusion="l2-size=32" %s | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32 blacklist=Conv" %s | filecheck %s --check-prefix=BARRED
// RUN: ge-opt --l2-fusion="l2-size=0.5" %s | filecheck %s --check-prefix=TIGHT
// RUN: ge-opt --l2-fusion="l2-size=32" --inline-fusion %s | filecheck %s --check-prefix=OPENED

// ResNet-50's first bottleneck, fp16: what goes in and comes out is 32 * 256 * 56 * 56 * 2 = 51380224 B each, the weights
// are (2 * 64 * 256 + 64 * 64 * 9) * 2 = 139264 B. Nothing else needs to go to memory, where four samples fit at a time:
// 2 * 51380224 + 139264 = 102899712.
// CHECK-LABEL: @bottleneck_of_56
// CHECK-SAME:    model_after = 102899712 : i64, judge_before = {{.*}} : i64, judge_after = 102899712 : i64
// CHECK:         ge.fusion "L2" (%x_1 = %x : tensor<32x256x56x56xf16>, %w1_1 = %w1
// CHECK-SAME:      tiling #ge.l2_tiling<axes = [0], tile = [4], tiles = 8, weights = resident,
// CHECK-COUNT-3:   ge.conv
// CHECK:           ge.yield
// CHECK:         func.return
// Convolutions barred: only the sum and the activation after it meet.
// BARRED-LABEL: @bottleneck_of_56
// BARRED-COUNT-3: ge.conv
// BARRED:         ge.fusion "L2"
// BARRED-NEXT:      ge.add
// BARRED-NEXT:      ge.relu
// BARRED-NEXT:      ge.yield
// In 0.5 MB not even one sample fits: cutting would read the weights again for each and save nothing.
// TIGHT-LABEL: @bottleneck_of_56
// TIGHT-NOT:     ge.fusion
// TIGHT:         func.return
// OPENED-LABEL: @bottleneck_of_56
// OPENED-NOT:     ge.fusion
// OPENED:         func.return
func.func @bottleneck_of_56(%x: tensor<32x256x56x56xf16>) -> tensor<32x256x56x56xf16> {
  %w1 = ge.constant #ge.splat<0.5> : tensor<64x256x1x1xf16>
  %w2 = ge.constant #ge.splat<0.5> : tensor<64x64x3x3xf16>
  %w3 = ge.constant #ge.splat<0.5> : tensor<256x64x1x1xf16>
  %0 = ge.conv %x, %w1 : tensor<32x256x56x56xf16>, tensor<64x256x1x1xf16> -> tensor<32x64x56x56xf16>
  %1 = ge.relu %0 : tensor<32x64x56x56xf16> -> tensor<32x64x56x56xf16>
  %2 = ge.conv %1, %w2 pads [1, 1, 1, 1] : tensor<32x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<32x64x56x56xf16>
  %3 = ge.relu %2 : tensor<32x64x56x56xf16> -> tensor<32x64x56x56xf16>
  %4 = ge.conv %3, %w3 : tensor<32x64x56x56xf16>, tensor<256x64x1x1xf16> -> tensor<32x256x56x56xf16>
  %5 = ge.add %4, %x : tensor<32x256x56x56xf16>, tensor<32x256x56x56xf16> -> tensor<32x256x56x56xf16>
  %6 = ge.relu %5 : tensor<32x256x56x56xf16> -> tensor<32x256x56x56xf16>
  func.return %6 : tensor<32x256x56x56xf16>
}

// There is no batch to cut.
// CHECK-LABEL: @one_sample
// CHECK-NOT:     ge.fusion
// CHECK:         func.return
func.func @one_sample(%x: tensor<1x256x56x56xf16>) -> tensor<1x256x56x56xf16> {
  %w1 = ge.constant #ge.splat<0.5> : tensor<64x256x1x1xf16>
  %w2 = ge.constant #ge.splat<0.5> : tensor<64x64x3x3xf16>
  %w3 = ge.constant #ge.splat<0.5> : tensor<256x64x1x1xf16>
  %0 = ge.conv %x, %w1 : tensor<1x256x56x56xf16>, tensor<64x256x1x1xf16> -> tensor<1x64x56x56xf16>
  %1 = ge.relu %0 : tensor<1x64x56x56xf16> -> tensor<1x64x56x56xf16>
  %2 = ge.conv %1, %w2 pads [1, 1, 1, 1] : tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<1x64x56x56xf16>
  %3 = ge.relu %2 : tensor<1x64x56x56xf16> -> tensor<1x64x56x56xf16>
  %4 = ge.conv %3, %w3 : tensor<1x64x56x56xf16>, tensor<256x64x1x1xf16> -> tensor<1x256x56x56xf16>
  %5 = ge.add %4, %x : tensor<1x256x56x56xf16>, tensor<1x256x56x56xf16> -> tensor<1x256x56x56xf16>
  %6 = ge.relu %5 : tensor<1x256x56x56xf16> -> tensor<1x256x56x56xf16>
  func.return %6 : tensor<1x256x56x56xf16>
}

// All of it fits into the cache as it is: no group is no worse, and wins the tie.
// CHECK-LABEL: @bottleneck_of_7
// CHECK-NOT:     ge.fusion
// CHECK:         func.return
func.func @bottleneck_of_7(%x: tensor<32x2048x7x7xf16>) -> tensor<32x2048x7x7xf16> {
  %w1 = ge.constant #ge.splat<0.5> : tensor<512x2048x1x1xf16>
  %w2 = ge.constant #ge.splat<0.5> : tensor<512x512x3x3xf16>
  %w3 = ge.constant #ge.splat<0.5> : tensor<2048x512x1x1xf16>
  %0 = ge.conv %x, %w1 : tensor<32x2048x7x7xf16>, tensor<512x2048x1x1xf16> -> tensor<32x512x7x7xf16>
  %1 = ge.relu %0 : tensor<32x512x7x7xf16> -> tensor<32x512x7x7xf16>
  %2 = ge.conv %1, %w2 pads [1, 1, 1, 1] : tensor<32x512x7x7xf16>, tensor<512x512x3x3xf16> -> tensor<32x512x7x7xf16>
  %3 = ge.relu %2 : tensor<32x512x7x7xf16> -> tensor<32x512x7x7xf16>
  %4 = ge.conv %3, %w3 : tensor<32x512x7x7xf16>, tensor<2048x512x1x1xf16> -> tensor<32x2048x7x7xf16>
  %5 = ge.add %4, %x : tensor<32x2048x7x7xf16>, tensor<32x2048x7x7xf16> -> tensor<32x2048x7x7xf16>
  %6 = ge.relu %5 : tensor<32x2048x7x7xf16> -> tensor<32x2048x7x7xf16>
  func.return %6 : tensor<32x2048x7x7xf16>
}

// What has effects, or is not known, parts what is around it; what mixes samples cannot be cut by them. Behind it samples
// begin anew.
// CHECK-LABEL: @left_alone
// CHECK:         ge.fusion "L2" (%{{.*}} = %x : tensor<32x64x128x128xf16>) -> (tensor<32x64x128x128xf16>)
// CHECK-NEXT:      ge.exp
// CHECK-NEXT:      ge.relu
// CHECK-NEXT:      ge.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    ge.opaque "Print"
// CHECK-NEXT:    [[MIXED:%.*]] = ge.softmax
// CHECK-NEXT:    ge.fusion "L2" (%{{.*}} = [[MIXED]] : tensor<32x64x128x128xf16>)
// CHECK-NEXT:      ge.sigmoid
// CHECK-NEXT:      ge.relu
// CHECK-NEXT:      ge.yield
func.func @left_alone(%x: tensor<32x64x128x128xf16>) -> tensor<32x64x128x128xf16> {
  %0 = ge.exp %x : tensor<32x64x128x128xf16> -> tensor<32x64x128x128xf16>
  %1 = ge.relu %0 : tensor<32x64x128x128xf16> -> tensor<32x64x128x128xf16>
  %2 = ge.opaque "Print" domain "acme" version 1 (%1) : (tensor<32x64x128x128xf16>) -> (tensor<32x64x128x128xf16>)
  %3 = ge.softmax %2 axis 0 : tensor<32x64x128x128xf16> -> tensor<32x64x128x128xf16>
  %4 = ge.sigmoid %3 : tensor<32x64x128x128xf16> -> tensor<32x64x128x128xf16>
  %5 = ge.relu %4 : tensor<32x64x128x128xf16> -> tensor<32x64x128x128xf16>
  func.return %5 : tensor<32x64x128x128xf16>
}
