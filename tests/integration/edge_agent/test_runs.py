"""Runs from their order to their end, with real processes."""

from typing import Any

from intertie.model.states import RunState


async def test_a_task_runs_and_its_end_is_told_after_its_samples(site: Any, agent: Any) -> None:
    order = site.order("/bin/true")
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert (end.exit_code, end.signal, dict(end.evidence)) == (0, 0, {})
    book = site.region.book(order)
    assert book.samples[-1].final
    assert book.run_ms == end.boot_ms
    assert book.states[-1] is RunState.ENDED
