"""Predictions of an exact GP at its own rows, each given all others."""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..numerics import linalg
from ..rows.rows import Prediction, Rows


def leave_one_out(kernel: Kernel, noise: float, rows: Rows) -> Prediction:
    """Means and variances of f at row i given the others (Rasmussen & Williams 2006, eq. 5.12):

        A = K + Ψ    E = yᵢ − (A⁻¹y)ᵢ/(A⁻¹)ᵢᵢ    var = 1/(A⁻¹)ᵢᵢ − Ψᵢ

    A row of weight w stands for w copies, which are held out together.
    """
    K, psi = kernel.value(rows.X), rows.psi(noise)
    scale = float(K.diagonal().max(initial=0.0)) or 1.0
    linalg.add_diagonal(K, psi)
    L, _ = linalg.cholesky(K, scale, overwrite=True)
    alpha = linalg.solve_posdef(L, rows.y)
    own = linalg.inverse_posdef(L).diagonal()
    return Prediction(rows.y - alpha / own[:, None], np.maximum(1.0 / own - psi, 0.0))
