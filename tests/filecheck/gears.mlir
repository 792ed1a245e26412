// RUN: ge-opt --input-shape="x:1|2,16" --ge-bufferize --memory-reuse --verify-each %s | filecheck %s
// RUN: ge-opt --input-shape="x:1..2,16" --ge-bufferize --memory-reuse --verify-each %s | filecheck %s
// RUN: ge-opt --input-shape="x:1|2,16" --ge-bufferize --memory-reuse %s | ge-opt --memory-reuse | filecheck %s
// RUN: ge-opt --input-shape="x:1|2,16" --ge-bufferize --memory-reuse --memory-order %s | filecheck %s
// RUN: ge-opt --input-shape="x:1|2,16" --ge-bufferize %s | filecheck %s --check-prefix=APART
// RUN: not ge-opt --input-shape="x:1..,16" --ge-bufferize %s 2>&1 | filecheck %s --check-prefix=BOUND
// RUN: not ge-opt --input-shape="x:1|2,16" -o %t.onnx %s 2>&1 | filecheck %s --check-prefix=ONNX

// BOUND: ge-opt: error: input shape 'x:1..,16': '1..' lacks a bound; memory is planned for sizes that are known
// ONNX:  ge-opt: error: ONNX has one graph a model, this one has 2 gears; write .mlir, or one shape

// Each gear is planned for itself, and both take the arena of the larger. A row of 16 floats is 64 bytes; %a and %b live
// together, %c is where %a was:
//   @main_0  1 row:   %a [0, 64)   %b [64, 128)   %c [0, 64)    128 of its own
//   @main_1  2 rows:  %a [0, 128)  %b [128, 256)  %c [0, 128)   256 of its own, and so 256 for both
// Without sharing of addresses the larger takes 3 * 128 = 384.
//
// CHECK-NOT:   @main(
// CHECK-LABEL: @main_0
// CHECK-SAME:  (%x: memref<1x16xf32>
// CHECK-SAME:  %arena: memref<256xi8> {ge.arena, ge.alignment = 64 : i64}) attributes {ge.gear_of = "main", ge.arena_bound = 128 : i64}
// CHECK:       %a = ge.slot %arena[0] life [0, 2) : memref<256xi8> -> memref<1x16xf32>
// CHECK:       %b = ge.slot %arena[64] life [1, 3) : memref<256xi8> -> memref<1x16xf32>
// CHECK:       %c = ge.slot %arena[0] life [2, 4) : memref<256xi8> -> memref<1x16xf32>
// CHECK-LABEL: @main_1
// CHECK-SAME:  (%x: memref<2x16xf32>
// CHECK-SAME:  %arena: memref<256xi8> {ge.arena, ge.alignment = 64 : i64}) attributes {ge.gear_of = "main", ge.arena_bound = 256 : i64}
// CHECK:       %a = ge.slot %arena[0] life [0, 2) : memref<256xi8> -> memref<2x16xf32>
// CHECK:       %b = ge.slot %arena[128] life [1, 3) : memref<256xi8> -> memref<2x16xf32>
// CHECK:       %c = ge.slot %arena[0] life [2, 4) : memref<256xi8> -> memref<2x16xf32>
// APART-LABEL: @main_0
// APART-SAME:  %arena: memref<384xi8>
// APART-LABEL: @main_1
// APART-SAME:  %arena: memref<384xi8>
func.func @main(%x: tensor<?x16xf32> {onnx.name = "x", ge.dims = ["N", 16]}, %w: tensor<16x16xf32>) -> tensor<?x16xf32> {
  %a = ge.matmul %x, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %b = ge.matmul %a, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %c = ge.matmul %b, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %y = ge.matmul %c, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  func.return %y : tensor<?x16xf32>
}
