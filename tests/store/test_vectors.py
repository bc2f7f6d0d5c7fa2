"""Vectors: the built-in provider, those by name, and litellm's over real HTTP on the loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.models.quiet import quiet_litellm
from rdforget.plugins import UnknownNameError
from rdforget.store.litellm_vectors import BATCH, LiteLLMVectors
from rdforget.store.records import StoreError
from rdforget.store.vectors import Hashing, Server, Vectors, make_vectors, unit
from rdforget.store.wordllama_vectors import _model
from tests.loopback import Response, Script, failed, serve

KEY = "sk-loopback-0123456789"
TEXTS = st.text(max_size=40)


def cosine(one: str, other: str, vectors: Vectors | None = None) -> float:
    rows = (vectors or Hashing()).embed([one, other])
    return float(rows[0] @ rows[1])


@given(st.lists(TEXTS, max_size=5))
def test_rows_are_unit_vectors_or_zeros_and_a_text_has_the_same_one_alone(texts: list[str]) -> None:
    rows = Hashing().embed(texts)
    assert rows.shape == (len(texts), Hashing.dim)
    assert rows.dtype == np.float32
    for text, row in zip(texts, rows, strict=True):
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-6) or (not text.strip() and not row.any())
        assert (row == Hashing().embed([text])[0]).all()


SAMPLE = "Inès pays $1,250 — 猫が好き 🎉"
_CHECKSUM = """
import zlib
from rdforget.store.vectors import Hashing
print(zlib.crc32((Hashing().embed([{text!r}]) * 1e4).round().astype("<i4").tobytes()))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_makes_the_same_vectors(seed: str) -> None:
    """The number holds on every machine; it changes only with the provider, whose name must then change too."""
    run = [sys.executable, "-c", _CHECKSUM.format(text=SAMPLE)]
    printed = subprocess.run(run, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
    assert int(printed) == 2008331714


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ines likes oat milk", "ines likes oat milk!", True),
        ("Zoë lives here", "Zoe\u0308 lives here", True),
        ("猫が好きです", "猫が好きです。", True),
        ("She walks the dog at 7, before work", "She walks the dog at 7 before work.", True),
        ("猫が好き", "犬を飼っている", False),
        ("🎉", "🎂", False),
        ("!!!", "???", False),
        ("Ann lent her car to Bob for the whole summer", "Bob lent her car to Ann for the whole summer", False),
        ("Ines takes her coffee with oat milk before work", "Ines takes her coffee with soy milk before work", False),
        ("rent is $1,250", "rent is $1,520", False),
        ("The meeting is on 3 May 2024", "The meeting is on 4 May 2024", False),
        (
            "Their favourite restaurant for birthdays, which they visit with the whole family, is the Italian place",
            "Their favourite restaurant for birthdays, which they visit with the whole family, is the Korean place",
            False,
        ),
        (
            "They want it known that the restaurant for birthdays, which they visit with the whole family every year, "
            "is now the Italian place near the station",
            "They want it known that the restaurant for birthdays, which they visit with the whole family every year, "
            "is now the Korean place near the station",
            False,  # 0.97, which the usual threshold of 0.95 would take for the same
        ),
    ],
)
def test_the_built_in_threshold_tells_another_spelling_from_another_fact(one: str, other: str, same: bool) -> None:
    assert (cosine(one, other) > Hashing.near_duplicate) is same


def test_related_texts_are_nearer_than_others_in_any_script() -> None:
    for query, near, far in [
        ("Where does Ines live?", "Ines lives in Lyon", "Bob works as a nurse"),
        ("猫", "猫が好きです", "犬を飼っている"),
        ("고양이", "고양이가 좋아요", "개를 키워요"),
        ("кофе", "Инес пьёт кофе", "Боб живёт в Лионе"),
        ("แมว", "ฉันชอบแมว", "บ๊อบอยู่ที่ลียง"),
    ]:
        assert cosine(query, near) > cosine(query, far) + 0.1


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_row_without_a_direction_becomes_zeros(row: list[float]) -> None:
    assert unit(np.array([row, [3.0, 4.0]])).tolist() == [[0.0, 0.0], [pytest.approx(0.6), pytest.approx(0.8)]]


def test_providers_are_found_by_name() -> None:
    assert make_vectors().name == make_vectors("hashing").name == "hashing"
    assert make_vectors("litellm:openai/some-model").name == "litellm:openai/some-model"
    with pytest.raises(UnknownNameError, match="did you mean 'hashing'"):
        make_vectors("hasing")
    with pytest.raises(StoreError, match="write litellm:provider/model"):
        make_vectors("litellm:")
    with pytest.raises(StoreError, match="there are no vectors 'hashing:512': did you mean 'hashing'"):
        make_vectors("hashing:512")


def test_without_its_package_wordllama_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    _model.cache_clear()
    with pytest.raises(StoreError, match=r"pip install 'rdforget\[wordllama\]'"):
        make_vectors("wordllama").embed(["Ines"])


def test_wordllama_compares_meanings() -> None:
    pytest.importorskip("wordllama")
    vectors = make_vectors("wordllama")
    assert vectors.embed([]).shape == (0, vectors.dim)
    assert vectors.embed([""]).tolist() == [[0.0] * vectors.dim]
    assert cosine("Ines is allergic to peanuts", "a peanut allergy", vectors) > 0.6
    # Why the store asks more than the cosine: amounts are one to it, and so are two orders of words.
    assert cosine("$1,250", "$1,520", vectors) > vectors.near_duplicate
    assert cosine("Ann owes Bob money", "Bob owes Ann money", vectors) > vectors.near_duplicate


def embedded(request: dict[str, Any], _: int = 0) -> Response:
    """Vectors of three numbers that tell the texts' lengths, in reverse order."""
    return reply(request, rows_of(*([float(len(text)), 1.0, 0.0] for text in request["input"]))[::-1])


def reply(request: dict[str, Any], rows: list[dict[str, Any]]) -> Response:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    body = {"object": "list", "model": request["model"], "data": rows, "usage": usage}
    return Response(body=json.dumps(body).encode())


def test_litellm_embeds_in_batches_in_the_order_of_the_texts() -> None:
    texts = ["x" * (n % 7 + 1) for n in range(BATCH + 3)]
    with serve(embedded) as server:
        vectors = make_vectors("litellm:openai/some-model", Server(api_base=server.url))
        rows = vectors.embed(texts)
        assert vectors.dim == 3
        assert vectors.embed([]).shape == (0, 3)
    assert [len(request.json["input"]) for request in server.requests] == [BATCH, 3]
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].json["model"] == "some-model"
    assert np.allclose(rows, unit(np.array([[len(text), 1, 0] for text in texts])))


def test_litellm_asks_for_one_vector_where_its_length_is_not_known() -> None:
    with serve(embedded) as server:
        assert make_vectors("litellm:openai/some-model", Server(api_base=server.url)).dim == 3
    assert len(server.requests) == 1


def test_litellm_sends_the_key_that_is_named_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-this-server")
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    with serve(embedded) as server:
        LiteLLMVectors("openai/some-model", Server(api_base=server.url)).embed(["x"])
        LiteLLMVectors("openai/some-model", Server(api_base=server.url, key_env="LOOPBACK_KEY")).embed(["x"])
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer none", f"Bearer {KEY}"]


def test_litellm_names_a_key_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPBACK_KEY", raising=False)
    with pytest.raises(StoreError, match="LOOPBACK_KEY, which is not set"):
        LiteLLMVectors("openai/some-model", Server(key_env="LOOPBACK_KEY")).embed(["x"])


def rows_of(*embeddings: list[Any]) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": n, "embedding": each} for n, each in enumerate(embeddings)]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (lambda request, n: failed(400, "the model is gone"), "the model is gone"),
        (lambda request, n: failed(401, f"no such key: {KEY}\nat all"), r"no such key: \*\*\*"),
        (lambda request, n: Response(body=b"{}", delay=30.0), "imed out|imeout"),
        (lambda request, n: reply(request, []), "0 vectors for 2 texts"),
        (lambda request, n: reply(request, rows_of([1.0])), "1 vectors for 2 texts"),
        (lambda request, n: reply(request, rows_of([1.0], [1.0, 2.0])), "vectors of one length"),
        (lambda request, n: reply(request, rows_of([1.0], [None])), "vectors of one length"),
        (lambda request, n: reply(request, rows_of([], [])), "vectors of one length"),
    ],
)
def test_litellm_says_in_one_line_what_went_wrong(
    script: Script, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet_litellm(), "DEFAULT_MAX_RETRIES", 0)  # its waits are real
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    with serve(script) as server:
        vectors = LiteLLMVectors("openai/some-model", Server(server.url, key_env="LOOPBACK_KEY", timeout=0.5))
        with pytest.raises(StoreError, match=message) as caught:
            vectors.embed(["Ines", "Bob"])
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_litellm_refuses_vectors_of_another_length_than_before() -> None:
    with serve(lambda request, n: reply(request, rows_of([1.0] * (n + 2)))) as server:
        vectors = LiteLLMVectors("openai/some-model", Server(server.url))
        vectors.embed(["x"])
        with pytest.raises(StoreError, match="vectors of 3 numbers, and of 2 before"):
            vectors.embed(["x"])
