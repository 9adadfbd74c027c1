"""Training checkpoints: saved while the task runs, saved last after it was stopped, resumable."""

from itertools import pairwise
from typing import Any

from intertie.model.manifest import decode_manifest
from intertie.testing.waiting import eventually

WRITER = """
import os, signal, time
folder = os.environ["INTERTIE_CHECKPOINT_DIR"]
def save(step):
    os.mkdir(f"{folder}/{step}.tmp")
    with open(f"{folder}/{step}.tmp/state", "w") as file:
        file.write(f"state {step}")
    os.rename(f"{folder}/{step}.tmp", f"{folder}/{step}")
    print(step, flush=True)
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
step = 0
while not stopped:
    step += 1
    if step <= STEPS:
        save(step)
    time.sleep(0.1)
save(1000)
raise SystemExit(143)
"""


def writer(steps: int) -> str:
    return WRITER.replace("STEPS", str(steps))


async def test_checkpoints_are_committed_while_the_task_runs(site: Any, agent: Any) -> None:
    order = site.python(writer(10_000), checkpoint_interval_ms=300)
    site.region.send("n1", order)
    first = await site.region.committed(order, 1)
    later = await site.region.committed(order, first.step + 1)
    manifest = decode_manifest(await site.region.blobs.get(later.manifest, 1 << 20))
    assert manifest.step == later.step
    assert [ref.path for ref in manifest.files] == ["state"]
    content = await site.region.blobs.get(manifest.files[0].sha256, 100)
    assert content == f"state {later.step}".encode()
    offers = site.region.book(order).offers
    assert [o.step for o in offers] == sorted({o.step for o in offers})
    assert all(a.written_boot_ms < b.written_boot_ms for a, b in pairwise(offers))
    site.region.stop_run("n1", order)
    await site.region.ended(order)


async def test_the_last_checkpoint_of_a_stopped_task_is_told_before_its_end(
    site: Any, agent: Any
) -> None:
    order = site.python(writer(1), checkpoint_interval_ms=3_600_000)
    site.region.send("n1", order)
    await site.print_of("n1", order, b"1\n")
    site.region.stop_run("n1", order, notice_ms=20_000)
    end = await site.region.ended(order)
    assert end.exit_code == 143
    book = site.region.book(order)
    assert book.checkpoint is not None
    assert book.checkpoint.step == 1000
    assert 0 < book.offers[-1].written_boot_ms <= end.boot_ms
    kinds = [type(m).__name__ for m in site.region.heard if getattr(m, "task", "") == order.task]
    assert kinds.index("CheckpointOffer") < len(kinds) - 1


async def test_an_entry_that_vanishes_while_it_is_read_costs_nothing(site: Any, agent: Any) -> None:
    code = (
        WRITER.replace(
            "print(step, flush=True)",
            "import shutil; step > 1 and shutil.rmtree(f'{folder}/{step - 1}')",
        )
        .replace("STEPS", "100000")
        .replace("time.sleep(0.1)", "time.sleep(0.002)")
    )
    order = site.python(code, checkpoint_interval_ms=50)
    site.region.send("n1", order)
    await eventually(lambda: len(site.region.book(order).offers) >= 5, 20)
    site.region.stop_run("n1", order, notice_ms=10_000)
    await site.region.ended(order)
    assert site.region.book(order).checkpoint.step == 1000


async def test_an_offer_without_a_verdict_is_made_again(site: Any, agent: Any) -> None:
    site.region.settles_checkpoints = False
    order = site.python(writer(1), checkpoint_interval_ms=100)
    site.region.send("n1", order)
    await eventually(lambda: len(site.region.book(order).offers) >= 2, 20)
    site.region.settles_checkpoints = True
    assert (await site.region.committed(order, 1)).step == 1
    site.region.stop_run("n1", order)
    await site.region.ended(order)


async def test_half_written_entries_and_other_names_are_passed_over(site: Any, agent: Any) -> None:
    code = (
        'cd "$INTERTIE_CHECKPOINT_DIR"; mkdir 9.tmp 07 -- -3; echo x > 9.tmp/a; echo x > 07/a;'
        " echo x > 8; mkdir 2; echo y > 2/a; echo done; sleep 60"
    )
    order = site.order(code, shell=True, checkpoint_interval_ms=100)
    site.region.send("n1", order)
    assert (await site.region.committed(order, 1)).step == 2
    site.region.stop_run("n1", order)
    await site.region.ended(order)
