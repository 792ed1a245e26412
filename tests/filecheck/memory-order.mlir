// RUN: ge-opt --ge-bufferize --memory-order --memory-reuse %s | filecheck %s

// In the order given %b is alive while %a becomes %c: 4096 + 4096 + 256. In the new one %a dies before %b is made:
// 4096 + 256 (%c) + 256 (%d).
// CHECK-LABEL: @one_large_tensor_at_a_time
// CHECK-SAME:  memref<4608xi8>
// CHECK:       ge.add
// CHECK:       ge.matmul
// CHECK:       ge.mul
// CHECK:       ge.matmul
func.func @one_large_tensor_at_a_time(%w: tensor<1x16xf32>, %x: tensor<16x1xf32>, %y: tensor<1x64xf32>) -> tensor<1x64xf32> {
  %a = ge.add %x, %y : tensor<16x1xf32>, tensor<1x64xf32> -> tensor<16x64xf32>
  %b = ge.mul %x, %y : tensor<16x1xf32>, tensor<1x64xf32> -> tensor<16x64xf32>
  %c = ge.matmul %w, %a : tensor<1x16xf32>, tensor<16x64xf32> -> tensor<1x64xf32>
  %d = ge.matmul %w, %b : tensor<1x16xf32>, tensor<16x64xf32> -> tensor<1x64xf32>
  %e = ge.sub %c, %d : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32>
  func.return %e : tensor<1x64xf32>
}

// The order given is the best there is: it stays.
// CHECK-LABEL: @a_chain
// CHECK:       ge.exp
// CHECK:       ge.relu
// CHECK:       ge.exp
func.func @a_chain(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
  %b = ge.relu %a : tensor<16xf32> -> tensor<16xf32>
  %c = ge.exp %b : tensor<16xf32> -> tensor<16xf32>
  func.return %c : tensor<16xf32>
}
