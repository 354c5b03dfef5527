"""Degrees of freedom: how many query points or anchors a committee wants (Tresp 2000, sec. 5)."""

from .core.dof import effective_dof, estimated_dof, numerical_rank

__all__ = ["effective_dof", "estimated_dof", "numerical_rank"]
