"""Receptive-field weighted regression (Schaal & Atkeson 1998): what LWPR is without projections.

Each field is a line about its centre c, learnt by recursive least squares with forgetting, and
counts a row w = exp(−½(x − c)ᵀMᵀM(x − c)) times. M descends the leave-one-out error

    J = Σ w e²_cv / Σ w + penalty Σ D²,   e_cv = (y − βᵀx)/(1 − w xᵀPx),   D = MᵀM.

One step per row and no second-order step sizes: a step changes no entry of M by more than a tenth
of its diagonal. Scales of X and y are those of the first rows. One setting for all data, but for
the size of new fields, on which much depends.
"""

import numpy as np

Array = np.ndarray
#: Rows that set the scales.
FIRST = 25
#: A field is added below this activation, one of two dropped above that.
ADD, PRUNE = 0.1, 0.9
#: Forgetting at first and at last, and how it goes from one to the other.
FORGET, LAST, FADE = 0.99, 0.9999, 0.999
#: Variance of a new line's coefficients, step of M, penalty of D.
VAGUE, STEP, PENALTY = 10.0, 0.5, 1e-6


class Field:
    """One receptive field."""

    def __init__(self, centre: Array, level: float, M: Array):
        D = centre.size + 1
        self.centre, self.M, self.forget = centre, M.copy(), FORGET
        self.beta, self.P = np.append(np.zeros(D - 1), level), VAGUE * np.eye(D)
        self.W = self.E = 1e-10
        self.H, self.R = np.zeros(D), np.zeros((D, D))
        self.rows = 0

    def activation(self, X: Array) -> Array:
        return np.exp(-0.5 * (((X - self.centre) @ self.M.T) ** 2).sum(axis=1))

    def learn(self, row: Array, y: float, w: float) -> None:
        away = row - self.centre
        x = np.append(away, 1.0)
        Px = self.P @ x
        self.P = (self.P - np.outer(Px, Px) / (self.forget / w + x @ Px)) / self.forget
        self.beta = self.beta + w * (y - self.beta @ x) * (self.P @ x)
        self._move(x, y, w, away)
        self.forget = FADE * self.forget + (1.0 - FADE) * LAST
        self.rows += 1

    def _move(self, x: Array, y: float, w: float, away: Array) -> None:
        """A step of M; Schaal & Atkeson, eq. 10 and its running sums."""
        Px, e = self.P @ x, y - self.beta @ x
        left = max(1.0 - w * (x @ Px), 1e-3)
        e_cv = e / left
        self.W = self.forget * self.W + w
        self.E = self.forget * self.E + w * e_cv**2
        if self.rows > 2 * x.size:
            by_w = (e_cv**2 - 2.0 * e * (Px @ self.H) - 2.0 * Px @ self.R @ Px) / self.W
            by_w -= self.E / self.W**2
            gradient = -w * by_w * np.outer(self.M @ away, away)  # ∂w/∂M
            gradient += w / self.W * 4.0 * PENALTY * self.M @ self.M.T @ self.M
            most = 0.1 * np.diag(self.M).max()
            M = self.M - np.clip(STEP * self.W * np.triu(gradient), -most, most)
            if np.diag(M).min() > 1e-3:
                self.M = M
        self.H = self.forget * self.H + w * e_cv / left * x
        self.R = self.forget * self.R + w**2 * e_cv**2 / left * np.outer(x, x)


class RFWR:
    """Fields that are added and dropped as rows come, and their weighted mean.

    size: standard deviation of a new field, relative to the typical distance √(2d) of two rows.
    """

    def __init__(self, size: float = 0.1):
        self.size, self.fields, self.first = size, [], []

    def partial_fit(self, X: Array, y: Array) -> "RFWR":
        for row, target in zip(X, y):
            if self.first is None:
                self._hear((row - self.centre) / self.scale, (target - self.level) / self.spread)
                continue
            self.first.append((row, target))
            if len(self.first) == FIRST:
                rows, targets = (np.array(part) for part in zip(*self.first))
                self.centre, self.scale = rows.mean(axis=0), rows.std(axis=0)
                self.scale[self.scale == 0.0] = 1.0
                self.level, self.spread, self.first = targets.mean(), targets.std(), None
                self.partial_fit(rows, targets)
        return self

    def _hear(self, row: Array, y: float) -> None:
        active = [field.activation(row[None])[0] for field in self.fields]
        for field, w in zip(self.fields, active):
            if w > 1e-3:
                field.learn(row, y, w)
        if not active or max(active) < ADD:
            M = np.eye(row.size) / (self.size * np.sqrt(2.0 * row.size))
            self.fields.append(Field(row, y, M))
            self.fields[-1].learn(row, y, 1.0)
            return
        first, second = np.argsort(active)[:-3:-1] if len(active) > 1 else (0, 0)
        if first != second and active[second] > PRUNE:
            pair = (self.fields[first], self.fields[second])
            self.fields.remove(max(pair, key=lambda field: np.linalg.norm(field.M)))

    def predict(self, X: Array) -> Array:
        """Predict; before the first rows are complete, by their mean."""
        if self.first is not None:
            return np.full(X.shape[0], np.mean([target for _, target in self.first]))
        X = (X - self.centre) / self.scale
        w = np.array([field.activation(X) for field in self.fields]) + 1e-200
        lines = np.array([f.beta[-1] + (X - f.centre) @ f.beta[:-1] for f in self.fields])
        return self.level + self.spread * (w * lines).sum(axis=0) / w.sum(axis=0)
