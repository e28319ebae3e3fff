"""Results kept by content, and work that resumes."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fedtheory.evidence import result_cache as cache_module
from fedtheory.evidence.parallel_work import Queue, run_all
from fedtheory.evidence.result_cache import Cache


def test_a_result_is_known_to_the_same_code_only(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    cache.put("search a", {"ratio": 0.1})
    assert cache.get("search a") == {"ratio": 0.1}
    assert cache.get("search b") is None
    monkeypatch.setattr(cache_module, "code_fingerprint", lambda: "other code")
    assert cache.get("search a") is None


def test_the_fingerprint_changes_with_any_source_file(tmp_path, monkeypatch):
    package = tmp_path / "fedtheory" / "evidence"
    package.mkdir(parents=True)
    (package / "cache.py").write_text("")
    (package / "rule.py").write_text("a = 1")
    monkeypatch.setattr(cache_module, "__file__", str(package / "cache.py"))
    fingerprint = cache_module.code_fingerprint.__wrapped__
    before = fingerprint()
    assert before == fingerprint()
    (package / "rule.py").write_text("a = 2")
    assert fingerprint() != before


def test_a_damaged_or_foreign_file_is_unknown(tmp_path):
    cache = Cache(tmp_path)
    cache.put("a", 1)
    (path,) = tmp_path.iterdir()
    path.write_text('{"key": "a", "resu')
    assert cache.get("a") is None
    path.write_text(json.dumps({"key": "b", "result": 2}))
    assert cache.get("a") is None
    path.write_text("[]")
    assert cache.get("a") is None


def _fail():
    raise RuntimeError("stopped")


def test_what_ended_before_a_failure_is_kept(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(RuntimeError, match="stopped"):
        run_all({"a": partial(pow, 2, 3), "b": _fail, "c": partial(pow, 2, 5)}, workers=1, done=cache.put)
    assert cache.get("a") == 8
    assert cache.get("c") is None


def test_any_executor_runs_the_tasks():
    with ThreadPoolExecutor(2) as pool:
        assert run_all({"a": partial(pow, 2, 3), "b": partial(pow, 3, 2)}, executor=pool) == {"a": 8, "b": 9}
        with pytest.raises(RuntimeError, match="stopped"):
            run_all({"a": _fail}, executor=pool)


def _process(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_what_shares_data_is_done_by_one_process_until_nothing_else_is_left(tmp_path):
    names = ["heavy 1", "heavy 2", "heavy 3", *(f"light {i}" for i in range(12))]
    tasks = {name: partial(_process, 0.05) for name in names} | {"wrong": _fail} | {f"late {i}": _fail for i in (1, 2)}
    found: dict[str, int] = {}
    together = dict.fromkeys(names[:3], "heavy")
    with pytest.raises(RuntimeError, match="stopped"):
        run_all(tasks, 2, done=found.__setitem__, together=together)
    assert {*names[:-1]} <= {*found} <= {*names}  # one may still be on its way
    assert len({found[name] for name in together}) == 1
    assert len(set(found.values())) == 2 and os.getpid() not in found.values()


def test_nobody_waits_while_there_is_work():
    queue = Queue(["a1", "a2", "a3", "b1", "b2", "c"], {n: n[0] for n in ("a1", "a2", "a3", "b1", "b2")})
    assert [queue.next(w) for w in (0, 1, 1, 1)] == ["a1", "b1", "b2", "c"]  # 1 leaves a2 and a3 to 0
    assert queue.next(1) == "a3"  # nothing else is left: it helps from the end
    assert [queue.next(w) for w in (0, 0, 1)] == ["a2", None, None]
    queue = Queue(["a1", "b", "a2"], {"a1": "a", "a2": "a"})
    assert [queue.next(0) for _ in range(3)] == ["a1", "a2", "b"]
