"""Who uploaded what, and which blobs live tasks need, where."""

from typing import Any

from federation.domain.blobs import ADOPTED, BLOB, BlobOwner, blob_key
from federation.domain.events import AdoptBlobs, ForgetBlob, KeepBlob
from intertie.drive.effects import Erase, Reply, Reserve, Write
from intertie.model.spec import FileRef, RunSpec
from intertie.model.states import Outcome

A, B = "a" * 64, "b" * 64


def spec_with(spec: Any, *digests: str) -> Any:
    files = tuple(FileRef(path=f"f{i}", sha256=d, size=5) for i, d in enumerate(digests))
    return spec(run=RunSpec(command=("true",), files=files))


def keep(project: str = "demo", sha256: str = A) -> KeepBlob:
    return KeepBlob(ticket=1, project=project, sha256=sha256, size=5)


def test_an_upload_is_a_row_of_its_digest_and_project(room: Any, pick: Any) -> None:
    effects = room.give(keep())
    written = pick.one(effects, Write)
    assert (written.kind, written.key) == (BLOB, blob_key(A, "demo"))
    assert (written.scope, written.ord) == (A, "demo")
    assert written.value == pick.one(effects, Reply).value
    assert written.value.used_ms == room.clock.now().utc_ms


def test_rows_of_a_blob_that_no_task_needs_are_erased(room: Any, pick: Any) -> None:
    room.give(keep("demo"))
    room.give(keep("other"))
    effects = room.give(ForgetBlob(ticket=2, sha256=A, projects=("demo",)))
    assert pick.one(effects, Reply).value is True
    assert pick.one(effects, Erase).key == blob_key(A, "demo")
    assert (BLOB, blob_key(A, "other")) in room.rows


def test_rows_of_a_blob_that_a_live_task_needs_stay(room: Any, spec: Any, pick: Any) -> None:
    room.give(keep())
    task = room.submit(spec_with(spec, A))
    forget = ForgetBlob(ticket=2, sha256=A, projects=("demo",))
    assert pick.one(room.give(forget), Reply).value is False
    assert (BLOB, blob_key(A, "demo")) in room.rows
    room.cancel(task)
    assert pick.one(room.give(forget), Reply).value is True


def test_a_region_needs_a_blob_while_a_live_task_is_at_it(room: Any, spec: Any) -> None:
    room.attach()
    first = room.submit(spec_with(spec, A, A, B))
    needs = room.core.blobs.needs
    assert A in needs
    assert not needs.at("eu", A)
    room.place()
    assert needs.at("eu", A)
    assert needs.at("eu", B)
    assert not needs.at("us", A)
    second = room.running(spec_with(spec, A))
    room.end(first)
    assert needs.at("eu", A)
    assert not needs.at("eu", B)
    room.end(second, Outcome.EVICTED)
    assert not needs.at("eu", A)
    assert A in needs
    room.cancel(second)
    assert A not in needs


def test_what_tasks_need_is_known_after_a_restart(room: Any, spec: Any) -> None:
    room.running(spec_with(spec, A))
    room.submit(spec_with(spec, B).__class__(run=spec_with(spec, B).run, array=3))
    room.restart()
    assert room.core.blobs.needs.at("eu", A)
    assert B in room.core.blobs.needs


def test_all_tasks_of_an_array_must_end_before_its_blobs_may_go(room: Any, spec: Any) -> None:
    one = spec_with(spec, A)
    first = room.submit(one.__class__(run=one.run, array=2))
    room.cancel(first)
    assert A in room.core.blobs.needs
    (second,) = room.core.tasks.values()
    room.cancel(second)
    assert A not in room.core.blobs.needs


def test_an_older_store_gets_the_rows_of_its_live_tasks(room: Any, spec: Any, pick: Any) -> None:
    room.submit(spec_with(spec, A, B))
    room.submit(spec_with(spec, A), project="other")
    effects = room.give(AdoptBlobs(ticket=9))
    owners = {w.key: w.value for w in pick.some(effects, Write)}
    assert owners.keys() == {blob_key(A, "demo"), blob_key(B, "demo"), blob_key(A, "other")}
    assert all(isinstance(owner, BlobOwner) and owner.size == 5 for owner in owners.values())
    once = pick.one(effects, Reserve)
    assert (once.space, once.name, once.digest) == ADOPTED
