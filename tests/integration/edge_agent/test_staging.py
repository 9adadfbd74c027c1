"""Files and checkpoints on their way to a run, and what keeps it from starting."""

from typing import Any

from intertie.model.manifest import Manifest, encode_manifest
from intertie.model.spec import FileRef
from intertie.model.states import Outcome, RunState
from intertie.model.task import CheckpointRef
from intertie.testing.waiting import eventually


async def test_files_arrive_with_their_modes_and_belong_to_the_task(site: Any, agent: Any) -> None:
    script = b"#!/bin/sh\necho script ran; echo more >> data/in.txt; cat data/in.txt\n"
    files = site.files(
        ("run.sh", await site.region.blobs.put(script), len(script), 0o755),
        ("data/in.txt", await site.region.blobs.put(b"line\n"), 5, 0o644),
    )
    order = site.order("./run.sh", **files)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert await site.output(order) == b"script ran\nline\nmore\n"
    assert RunState.STAGING in site.region.book(order).states


async def test_read_only_files_are_links_into_the_cache_and_stay_intact(
    site: Any, agent: Any
) -> None:
    digest = await site.region.blobs.put(b"weights")
    code = "cat w; (echo spoiled > w) 2>/dev/null; chmod u+w w 2>/dev/null; stat -c %h w"
    order = site.order(code, shell=True, **site.files(("w", digest, 7, 0o444)))
    site.region.send("n1", order)
    await site.region.ended(order)
    assert await site.output(order) == b"weights2\n"
    assert (agent.live.folders.cache / digest[:2] / digest).read_bytes() == b"weights"


async def test_a_blob_is_fetched_once_for_many_runs(site: Any, agent: Any) -> None:
    digest = await site.region.blobs.put(b"shared")
    orders = [site.order("cat", "a", **site.files(("a", digest, 6, 0o644))) for _ in range(5)]
    for order in orders:
        site.region.send("n1", order)
    for order in orders:
        assert await site.output(order) == b"shared"
    await site.region.blobs.delete(digest)
    again = site.order("cat", "a", **site.files(("a", digest, 6, 0o644)))
    site.region.send("n1", again)
    assert await site.output(again) == b"shared"


async def test_what_a_crash_left_torn_is_fetched_anew(site: Any, agent: Any) -> None:
    begun, whole = b"begun before the crash", b"whole before the crash"
    cache = agent.live.folders.cache
    orders = []
    for text in (begun, whole):
        digest = await site.region.blobs.put(text)
        files = site.files(("a", digest, len(text), 0o444))
        orders.append((text, digest, site.order("cat a", shell=True, **files)))
    (cache / "parts" / orders[0][1]).write_bytes(b"torn")
    text, digest, first = orders[1]
    site.region.send("n1", first)
    assert await site.output(first) == text
    kept = cache / digest[:2] / digest
    kept.chmod(0o644)
    kept.write_bytes(bytes(3))
    files = site.files(("a", digest, len(text), 0o444))
    orders[1] = (text, digest, site.order("cat a", shell=True, **files))
    for text, _, order in orders:
        site.region.send("n1", order)
        assert await site.output(order) == text


async def test_a_file_that_the_region_lacks_ends_the_run_with_evidence(
    site: Any, agent: Any
) -> None:
    order = site.order("/bin/true", **site.files(("a", "ab" * 32, 5, 0o644)))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert "ab" * 32 in end.evidence["staging"]
    assert end.boot_ms == 0


async def test_a_path_that_leads_outside_is_refused_by_the_node(site: Any, agent: Any) -> None:
    digest = await site.region.blobs.put(b"x")
    order = site.order("/bin/true", **site.files(("../../x", digest, 1, 0o644)))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert "files[0].path" in end.evidence["staging"]


async def test_a_checkpoint_is_restored_before_the_task_starts(site: Any, agent: Any) -> None:
    state = await site.region.blobs.put(b"state of step 7")
    manifest = Manifest(
        step=7, files=(FileRef(path="model/a.npz", sha256=state, size=15, mode=0o600),)
    )
    order = site.order(
        'cat "$INTERTIE_CHECKPOINT_DIR/7/model/a.npz"; touch "$INTERTIE_CHECKPOINT_DIR/x"',
        shell=True,
    )
    ref = CheckpointRef(
        step=7,
        manifest=await site.region.blobs.put(encode_manifest(manifest)),
        size=15,
        token=order.token,
        committed_ms=1,
    )
    order = site.order(*order.command, shell=True, checkpoint=ref, checkpoint_interval_ms=1_000)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert end.resumed_step == 7
    assert await site.output(order) == b"state of step 7"


async def test_a_run_that_is_still_staged_can_be_stopped(site: Any, agent: Any) -> None:
    order = site.order("/bin/true", **site.files(("a", "cd" * 32, 5, 0o644)))
    site.hold_blobs("cd" * 32)
    site.region.send("n1", order)
    await site.region.told(order, RunState.STAGING)
    site.region.stop_run("n1", order, outcome=Outcome.CANCELLED)
    end = await site.region.ended(order)
    assert "stopped" in end.evidence
    assert RunState.RUNNING not in site.region.book(order).states


async def test_a_node_outside_of_the_tasks_bounds_refuses_it(site: Any, agent: Any) -> None:
    order = site.order("/bin/true", within=("FR",))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.outcome is Outcome.REJECTED
    assert "FR" in end.evidence["residency"]
    assert RunState.RUNNING not in site.region.book(order).states


async def test_the_cache_stays_within_its_bound(site: Any) -> None:
    agent = site.agent(cache="100KiB")
    await agent.up()
    await site.region.attached("n1")
    for number in range(4):
        blob = bytes([number]) * 40_000
        digest = await site.region.blobs.put(blob)
        order = site.order("/bin/true", **site.files(("a", digest, 40_000, 0o644)))
        site.region.send("n1", order)
        await site.region.ended(order)
    cached = [path for path in agent.live.folders.cache.rglob("*") if path.is_file()]
    assert await eventually(lambda: sum(path.stat().st_size for path in cached) <= 102_400, 5)
