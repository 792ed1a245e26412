"""
Spectra: Fourier transforms, and the windows and weights around them.

A complex number is a last axis of two, the real part first. Lengths are operands: constants among them say dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, i32, i64

from .core import PureOp, ge_op, shared_attributes
from .declare import OnnxName, element_type, integer, operand, opt_operand, result
from .dims import Dim, floordiv, unknown_size
from .errors import fail
from .info import Info, axis_of, same_dim, same_element
from .interfaces import Box, Tiles, Work, whole
from .shapes import check_single, first_cut, numbers_in
from .types import is_float, shape_of


def length_in(op: PureOp, what: str, info: Info | None, code: str) -> Dim | None:
    """A length that is an operand: one element of i32 or i64; None where it is absent, or `unknown`."""
    if info is None:
        return None
    check_single(op, what, info, code)
    if info.element not in (i32, i64):
        fail(op, f"{what} must be of i32 or i64, got {info.type} ({code})")
    elements = info.elements
    return elements[0] if elements else unknown_size()


def bins(length: Dim, onesided: int) -> Dim:
    """Frequencies of a transform of so many samples."""
    return floordiv(length, 2) + 1 if onesided else length


@ge_op
class DFTOp(PureOp, Tiles, Work):
    """
    The discrete Fourier transform of `input` along `axis`, cut or padded to dft_length; with onesided the frequencies
    up to half of it. With `inverse` the transform back, which with onesided is from those to real numbers.

    C1  the last dim of input is 1 (real) or 2 (complex)
    C2  axis is one of input, but not the last
    C3  dft_length is one element of i32 or i64
    C4  with onesided the input is real, with `inverse` complex

        %y = ge.dft %x, none, %axis onesided 1 : tensor<1x512x1xf32>, tensor<i64> -> tensor<1x257x2xf32>

    Source: ONNX DFT-20 (before, axis was an attribute, 1 by default).
    """

    name = "ge.dft"
    onnx = OnnxName("DFT", since=20, attributes_before={20: {"axis": "axis"}}, scalars=("axis",))
    input = operand()
    dft_length = opt_operand()
    axis = opt_operand()
    inverse = integer(0)
    onesided = integer(0)
    output = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return {"axis": 1} | attrs  # which was the default

    def to_older(self, version: int) -> dict[str, Any] | None:
        return self.attrs() if self.axis is not None else None

    def infer(self, *operands: Any) -> Info:
        x, length, axis = operands
        if x.rank < 2 or not is_float(x.element) or not (same_dim(x.dims[-1], 1) or same_dim(x.dims[-1], 2)):
            fail(self, f"the last dim of input must be 1 or 2, got {x.type} (C1)")
        check_single(self, "axis", axis, "C2")
        back = bool(self.onesided and self.inverse)
        if self.onesided and not same_dim(x.dims[-1], 2 if back else 1):
            fail(self, f"with onesided the last dim must be 1, with inverse 2, got {x.type} (C4)")
        found = length_in(self, "dft_length", length, "C3")
        dims, parts = list(x.dims), 1 if back else 2
        if axis is not None and not axis.numbers:
            kept = found is None and not self.onesided
            return x.like([*(dims[:-1] if kept else [unknown_size() for _ in dims[1:]]), parts])
        at = axis_of(self, -2 if axis is None else axis.numbers[0], x.rank, "C2")
        if at == x.rank - 1:
            fail(self, "axis must not be the last (C2)")
        if back:
            dims[at] = 2 * (dims[at] - 1) if found is None else found
        else:
            dims[at] = bins(dims[at] if found is None else found, self.onesided)
        return x.like([*dims[:-1], parts])

    def _moved(self) -> Sequence[int]:
        """Axes along which a tile is all that there is."""
        rank = len(shape_of(self.input.type))
        axis = [-2] if self.axis is None else numbers_in(self.axis)
        return range(rank) if axis is None else (axis[0] % rank, rank - 1)

    def loops(self) -> tuple[str, ...]:
        moved = self._moved()
        return tuple("whole" if k in moved else "parallel" for k in range(len(shape_of(self.output.type))))

    def operand_tiles(self, tile: Box) -> list[Box]:
        moved = self._moved()
        return first_cut(self, tuple(b if k in moved else tile[k] for k, b in enumerate(whole(self.input))))

    def flops(self) -> int:
        count = 1
        for d in shape_of(self.output.type):
            count *= max(d, 1)
        return 5 * count * max(count.bit_length(), 1)


@ge_op
class STFTOp(PureOp, Tiles, Work):
    """
    The Fourier transforms of frames of `signal`, frame_step apart, times a window; with onesided the frequencies up to
    half of a frame.

    C1  signal is [batch, samples] or [batch, samples, 1 or 2]
    C2  frame_step and frame_length are one element of i32 or i64
    C3  window is a vector, of a frame's length; it or frame_length is there

        %y = ge.stft %x, %step, %window : tensor<1x16000xf32>, tensor<i64>, tensor<400xf32> -> tensor<1x98x201x2xf32>

    Source: ONNX STFT-17.
    """

    name = "ge.stft"
    onnx = OnnxName("STFT", since=17)
    signal = operand()
    frame_step = operand()
    window = opt_operand()
    frame_length = opt_operand()
    onesided = integer(1)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, step, window, length = operands
        parts = x.rank == 2 or (x.rank == 3 and (same_dim(x.dims[2], 1) or same_dim(x.dims[2], 2)))
        if not parts or not is_float(x.element):
            fail(self, f"signal must be [batch, samples] or [batch, samples, 1 or 2], got {x.type} (C1)")
        hop = length_in(self, "frame_step", step, "C2")
        frame = length_in(self, "frame_length", length, "C2")
        if window is not None and (window.rank != 1 or (frame is not None and not same_dim(window.dims[0], frame))):
            fail(self, f"window must be a vector of {frame}, got {window.type} (C3)")
        same_element(self, "C3", x, window)
        if frame is None and window is None:
            fail(self, "window or frame_length must be there (C3)")
        frame = frame if isinstance(frame, int) or window is None else window.dims[0]
        frames = unknown_size()
        if isinstance(hop, int) and isinstance(frame, int) and hop > 0:
            frames = floordiv(x.dims[1] - frame, hop) + 1
        return x.like((x.dims[0], frames, bins(frame or 0, self.onesided), 2))

    def _frame(self) -> tuple[int, int] | None:
        """Samples from frame to frame, and in one; None where they are not known."""
        step = numbers_in(self.frame_step)
        length = shape_of(self.window.type) if self.window is not None else numbers_in(self.frame_length)
        return None if step is None or not length or length[0] < 1 else (step[0], length[0])

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "whole" if self._frame() is None else "parallel", "whole", "whole")

    def operand_tiles(self, tile: Box) -> list[Box]:
        frame, (batch, (begin, count)) = self._frame(), tile[:2]
        signal = whole(self.signal)
        if frame is None:
            return first_cut(self, (batch, *signal[1:]))
        step, length = frame
        return first_cut(self, (batch, (begin * step, (count - 1) * step + length), *signal[2:]))

    def flops(self) -> int:
        batch, frames, frequencies, _ = shape_of(self.output.type)
        return 10 * batch * frames * frequencies * max(frequencies.bit_length(), 1)


@shared_attributes
class Window(PureOp):
    """
    Shared by windows: a vector of `size` numbers that depend on it alone.

    C1  size is one element of i32 or i64
    """

    output_datatype = element_type(f32)
    periodic = integer(1)
    size = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        length = length_in(self, "size", operands[0], "C1")
        assert length is not None
        return Info(self.output_datatype, (length,))


@ge_op
class HannWindowOp(Window):
    """
    y[n] = sin(pi * n / N) ^ 2 for n below size, with N = size, or size - 1 where `periodic` is 0.

    C1  size is one element of i32 or i64

        %y = ge.hann_window %n : tensor<i64> -> tensor<400xf32>

    Source: ONNX HannWindow-17.
    """

    name = "ge.hann_window"
    onnx = OnnxName("HannWindow", since=17)


@ge_op
class HammingWindowOp(Window):
    """
    y[n] = 25 / 46 - 21 / 46 * cos(2 * pi * n / N) for n below size, with N = size, or size - 1 where `periodic` is 0.

    C1  size is one element of i32 or i64

        %y = ge.hamming_window %n : tensor<i64> -> tensor<400xf32>

    Source: ONNX HammingWindow-17.
    """

    name = "ge.hamming_window"
    onnx = OnnxName("HammingWindow", since=17)


@ge_op
class BlackmanWindowOp(Window):
    """
    y[n] = 0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N) for n below size, with N = size, or size - 1
    where `periodic` is 0.

    C1  size is one element of i32 or i64

        %y = ge.blackman_window %n : tensor<i64> -> tensor<400xf32>

    Source: ONNX BlackmanWindow-17.
    """

    name = "ge.blackman_window"
    onnx = OnnxName("BlackmanWindow", since=17)


@ge_op
class MelWeightMatrixOp(PureOp):
    """
    The weights that make a spectrum of dft_length / 2 + 1 frequencies one of num_mel_bins bands, which are triangles
    of even width on the mel scale between two frequencies.

    C1  the counts and the sample rate are one element of i32 or i64
    C2  the edges are one element, of floats

        %y = ge.mel_weight_matrix %bins, %n, %rate, %low, %high
               : tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<257x80xf32>

    Source: ONNX MelWeightMatrix-17.
    """

    name = "ge.mel_weight_matrix"
    onnx = OnnxName("MelWeightMatrix", since=17)
    num_mel_bins = operand()
    dft_length = operand()
    sample_rate = operand()
    lower_edge_hertz = operand()
    upper_edge_hertz = operand()
    output_datatype = element_type(f32)
    output = result()

    def infer(self, *operands: Any) -> Info:
        bands, length, rate, low, high = operands
        names = ("num_mel_bins", "dft_length", "sample_rate")
        counts = [length_in(self, what, info, "C1") for what, info in zip(names, (bands, length, rate), strict=True)]
        for info in (low, high):
            check_single(self, "an edge", info, "C2")
            if not is_float(info.element):
                fail(self, f"an edge must be of floats, got {info.type} (C2)")
        return Info(self.output_datatype, (bins(counts[1] or 0, 1), counts[0] or 0))
