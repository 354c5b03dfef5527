"""Pictures of priors, bases, fits with their error bars, local experts, and single predictions.

matplotlib is needed, and imported when something is drawn.
"""

from .experts import plot_experts
from .fits import plot_fit
from .functions import plot_basis, plot_prior
from .waterfalls import waterfall

__all__ = ["plot_basis", "plot_experts", "plot_fit", "plot_prior", "waterfall"]
