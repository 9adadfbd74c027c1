"""What an owner lends, as far as its summary tells: whom it would refuse, how much is left.

The region decides by its own policy on every offer and admission; this only spares the question.
"""

from federation.domain.routing.demand import Demand
from intertie.model.pool import LendingTerms, Shape


def refusal(demand: Demand, terms: LendingTerms) -> str:
    """Why guests like these are refused; empty if they are not."""
    shape = demand.shapes[0]
    if not terms.open:
        return "lends nothing at this hour"
    if terms.projects and demand.project and demand.project not in terms.projects:
        return "lends to other projects"
    if terms.kinds and demand.kind not in terms.kinds:
        return f"lends to {', '.join(terms.kinds)}"
    data_class = demand.want.data_class
    if terms.data_classes and data_class and data_class not in terms.data_classes:
        return f"takes {', '.join(terms.data_classes)} data"
    models = frozenset(terms.models)
    if models and shape.devices and shape.device_models and not models & {*shape.device_models}:
        return f"lends {', '.join(terms.models)}"
    longest_ms = terms.longest_run_ms
    if longest_ms and demand.work.source != "assumed" and demand.work.ms > longest_ms:
        return f"lends for runs of up to {longest_ms // 60_000} min"
    return ""


def left_units(shape: Shape, terms: LendingTerms) -> float:
    """How many units guests may still take."""
    assert shape.cpu > 0 < shape.memory, "a unit takes something"
    bounds = [terms.left_cpu // shape.cpu, terms.left_memory // shape.memory]
    if shape.devices:
        bounds.append(terms.left_devices // shape.devices)
    return float(max(0, min(bounds)))
