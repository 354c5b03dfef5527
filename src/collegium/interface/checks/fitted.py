"""Whether an estimator is fitted."""

from typing import Any

from sklearn.utils.validation import check_is_fitted as raise_unless_fitted


def check_is_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError unless there is a model.

    scikit-learn's own check reads all tags first, and so all arguments.
    """
    if "model_" not in vars(estimator):
        raise_unless_fitted(estimator)
