"""The sidecar: what passes compute and is too large for the text."""

import numpy as np
import pytest

from gecc.dialects.ge import data

RAMP = np.arange(6 * 5 * 4, dtype=np.float32).reshape(6, 5, 4)


@pytest.mark.parametrize(
    "array",
    [RAMP, RAMP.transpose(2, 0, 1), RAMP[::2, :, 1:3], RAMP.astype(np.float16)[:, :1], RAMP.reshape(1, -1), RAMP[0, 0]],
    ids=["contiguous", "transposed", "strided", "two bytes", "one row", "small"],
)
def test_an_array_is_written_in_row_major_order_whatever_the_chunks(array: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data, "_CHUNK", 48)
    begin = data.append_to_sidecar(array)
    written = data.sidecar_path().read_bytes()[begin:]
    assert begin % 64 == 0
    assert written == array.tobytes()


def test_an_array_that_begins_with_equal_elements_is_no_splat():
    padded = np.zeros((300, 4), np.float32)
    padded[200] = 1.0
    with pytest.raises(ValueError, match="too large"):
        data.value_of(padded)
    assert data.value_of(np.zeros((300, 4), np.float32)) == data.value_of(np.zeros(1000, np.float32))
