// RUN: ge-opt --op-fusion="rules-file=%S/Inputs/fusion-rules.json" --verify-each %s | filecheck %s
// RUN: ge-opt --op-fusion="rules-file=%S/Inputs/fusion-rules.json" --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS
// RUN: not ge-opt --op-fusion="rules-file=%S/Inputs/fusion-rules-unknown.json" %s 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: fusion-rules-unknown.json:1: rule 1 ("Dense"): pattern: no operator 'BiasAd'; did you mean 'BiasAdd'?

// Three lookups, two additions and the normalisation are one match; the tables stay outside.
// CHECK-LABEL: @embeddings
// CHECK: ge.fusion "FusedEmbeddingAddLayerNorm"
// CHECK-COUNT-2: ge.gather
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.gather
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.layer_normalization
// CHECK-NEXT: ge.yield
func.func @embeddings(%words: tensor<1x?xi64>, %kinds: tensor<1x?xi64>, %places: tensor<1x?xi64>, %s: tensor<8xf16>) -> tensor<1x?x8xf16> {
  %t0 = ge.constant #ge.splat<0.5> : tensor<100x8xf16>
  %t1 = ge.constant #ge.splat<0.25> : tensor<2x8xf16>
  %t2 = ge.constant #ge.splat<0.125> : tensor<64x8xf16>
  %0 = ge.gather %t0, %words : tensor<100x8xf16>, tensor<1x?xi64> -> tensor<1x?x8xf16>
  %1 = ge.gather %t1, %kinds : tensor<2x8xf16>, tensor<1x?xi64> -> tensor<1x?x8xf16>
  %2 = ge.add %0, %1 : tensor<1x?x8xf16>, tensor<1x?x8xf16> -> tensor<1x?x8xf16>
  %3 = ge.gather %t2, %places : tensor<64x8xf16>, tensor<1x?xi64> -> tensor<1x?x8xf16>
  %4 = ge.add %3, %2 : tensor<1x?x8xf16>, tensor<1x?x8xf16> -> tensor<1x?x8xf16>
  %5 = ge.layer_normalization %4, %s : tensor<1x?x8xf16>, tensor<8xf16> -> tensor<1x?x8xf16>
  func.return %5 : tensor<1x?x8xf16>
}

// The file's rule does not hold; our own does.
// CHECK-LABEL: @embeddings_in_f32
// CHECK: ge.fusion "EmbeddingLayerNormalization"
// REMARKS-DAG: node "ln32": {{.*}} not fused by "FusedEmbeddingAddLayerNorm": the condition input_dtype==float16 does not hold
func.func @embeddings_in_f32(%words: tensor<1x?xi64>, %p: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<1x?x8xf32> {
  %t0 = ge.constant #ge.splat<0.5> : tensor<100x8xf32>
  %0 = ge.gather %t0, %words : tensor<100x8xf32>, tensor<1x?xi64> -> tensor<1x?x8xf32>
  %1 = ge.add %0, %p : tensor<1x?x8xf32>, tensor<8xf32> -> tensor<1x?x8xf32>
  %2 = ge.layer_normalization %1, %s : tensor<1x?x8xf32>, tensor<8xf32> -> tensor<1x?x8xf32> onnx "ln32"
  func.return %2 : tensor<1x?x8xf32>
}

// A further producer that something else reads stays outside; the rest is fused.
// CHECK-LABEL: @a_shared_lookup
// CHECK: %[[SHARED:.*]] = ge.gather
// CHECK: ge.fusion "FusedEmbeddingAddLayerNorm" ({{.*}} = %[[SHARED]] : {{.*}}) -> (tensor<1x4x8xf16>) {
// CHECK-COUNT-1: ge.gather
// CHECK-NEXT: ge.add
// CHECK-NEXT: ge.layer_normalization
func.func @a_shared_lookup(%words: tensor<1x4xi64>, %s: tensor<8xf16>) -> (tensor<1x4x8xf16>, tensor<1x4x8xf16>) {
  %t0 = ge.constant #ge.splat<0.5> : tensor<100x8xf16>
  %t1 = ge.constant #ge.splat<0.25> : tensor<20x8xf16>
  %0 = ge.gather %t0, %words : tensor<100x8xf16>, tensor<1x4xi64> -> tensor<1x4x8xf16>
  %1 = ge.gather %t1, %words : tensor<20x8xf16>, tensor<1x4xi64> -> tensor<1x4x8xf16>
  %2 = ge.add %0, %1 : tensor<1x4x8xf16>, tensor<1x4x8xf16> -> tensor<1x4x8xf16>
  %3 = ge.layer_normalization %2, %s : tensor<1x4x8xf16>, tensor<8xf16> -> tensor<1x4x8xf16>
  func.return %3, %0 : tensor<1x4x8xf16>, tensor<1x4x8xf16>
}

// 32 rows are a multiple of 16; with 20 our own rule fuses what the file's does not.
// CHECK-LABEL: @dense_32
// CHECK: ge.fusion "FusedDense"
func.func @dense_32(%x: tensor<?x32xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %w = ge.constant #ge.splat<0.5> : tensor<32x4xf32>
  %0 = ge.matmul %x, %w : tensor<?x32xf32>, tensor<32x4xf32> -> tensor<?x4xf32>
  %1 = ge.add %0, %b : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %2 = ge.relu %1 : tensor<?x4xf32> -> tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}

// CHECK-LABEL: @dense_20
// CHECK: ge.fusion "MatMulAddRelu"
func.func @dense_20(%x: tensor<?x20xf32>) -> tensor<?x4xf32> {
  %w = ge.constant #ge.splat<0.5> : tensor<20x4xf32>
  %b = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = ge.matmul %x, %w : tensor<?x20xf32>, tensor<20x4xf32> -> tensor<?x4xf32>
  %1 = ge.add %0, %b : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %2 = ge.relu %1 : tensor<?x4xf32> -> tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}

// No constant is multiplied: what the condition asks for is not there.
// CHECK-LABEL: @dense_without_weights
// CHECK: ge.fusion "MatMulAddRelu"
// REMARKS-DAG: node "relu": {{.*}} not fused by "FusedDense": its condition asks for weights_shape, which is not there
func.func @dense_without_weights(%x: tensor<?x32xf32>, %w: tensor<32x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = ge.matmul %x, %w : tensor<?x32xf32>, tensor<32x4xf32> -> tensor<?x4xf32>
  %1 = ge.add %0, %b : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %2 = ge.relu %1 : tensor<?x4xf32> -> tensor<?x4xf32> onnx "relu"
  func.return %2 : tensor<?x4xf32>
}

// The convolution has two readers, but both are in the match.
// CHECK-LABEL: @silu
// CHECK: ge.fusion "ConvSilu"
// CHECK-NEXT: ge.conv
// CHECK-NEXT: ge.sigmoid
// CHECK-NEXT: ge.mul
// CHECK-NEXT: ge.yield
func.func @silu(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = ge.conv %x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  %1 = ge.sigmoid %0 : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32>
  %2 = ge.mul %0, %1 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf32>
  func.return %2 : tensor<1x4x6x6xf32>
}
