"""viewfold as a back end of torch: torch.compile(model, backend="viewfold")."""

from .backend import Report, backend, explain, forget
from .export import export

__all__ = ["backend", "explain", "export", "forget", "Report"]
