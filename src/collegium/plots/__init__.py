"""Pictures of models and of their error bars.

matplotlib is needed, and imported when something is drawn. Functions take axes (`ax=`) and return
them; without, they make a figure of their own, `ax.figure`.
"""

from .curves import LearningCurve, learning_errors
from .curves import plot_learning_curve as learning_curve
from .effects import plot_effect as effect
from .effects import plot_effect2 as effect2
from .effects import plot_importance as importance
from .experts import plot_experts
from .fits import plot_fit
from .functions import plot_basis, plot_prior
from .honesty import plot_calibration as calibration
from .honesty import plot_pit as pit
from .judged import Predictions, predictions
from .maps import plot_map as map  # noqa: F401
from .misses import plot_intervals as intervals
from .misses import plot_residuals as residuals
from .streams import plot_stream as stream
from .times import plot_series as series
from .waterfalls import waterfall

#: Without `map`: an import of all names would hide that of Python.
__all__ = ["LearningCurve", "Predictions", "calibration", "effect", "effect2", "importance"]
__all__ += ["intervals", "learning_curve", "learning_errors", "pit", "plot_basis", "plot_experts"]
__all__ += ["plot_fit", "plot_prior", "predictions", "residuals", "series", "stream", "waterfall"]
