func.func @main(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x16x16xf32> {
  %0 = ge.conv %x, %w : tensor<1x8x16x16xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x16x16xf32> onnx "block/Conv"
  %1 = ge.relu %0 : tensor<1x8x16x16xf32> -> tensor<1x8x16x16xf32> onnx "block/Relu"
  func.return %1 : tensor<1x8x16x16xf32>
}
