"""Results kept by content, and work that resumes."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fedtheory.evidence import cache as cache_module
from fedtheory.evidence.cache import Cache
from fedtheory.evidence.work import run_all


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
