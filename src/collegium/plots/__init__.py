"""Pictures of models and of their error bars.

matplotlib is needed, and imported when something is drawn. Functions take axes (`ax=`) and return
them; without, they make a figure of their own, `ax.figure`.
"""

from .experts import plot_experts
from .fits import plot_fit
from .functions import plot_basis, plot_prior
from .judged import Predictions, predictions
from .misses import plot_intervals as intervals
from .misses import plot_residuals as residuals

__all__ = ["Predictions", "intervals", "plot_basis", "plot_experts", "plot_fit", "plot_prior", "predictions", "residuals"]
