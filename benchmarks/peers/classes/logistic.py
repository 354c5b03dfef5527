"""LogisticRegression of scikit-learn, default, run until it converges."""

from sklearn.linear_model import LogisticRegression


class Model:
    def __init__(self, seed: int, threads: int, max_iter: int = 10_000):
        self.model = LogisticRegression(max_iter=max_iter, random_state=seed)

    def fit(self, X, y):
        self.model.fit(X, y)
        self.found = f"{self.model.n_iter_.max()} iterations"

    def predict(self, Xs):
        return self.model.predict_proba(Xs), self.model.classes_
