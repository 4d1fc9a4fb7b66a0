"""viewfold as a back end of torch: torch.compile(model, backend="viewfold")."""

from .backend import Report, backend, explain, forget

__all__ = ["backend", "explain", "forget", "Report"]
