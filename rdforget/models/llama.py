"""A model in llama.cpp: one sequence, read block by block, with the states of common beginnings kept.

https://github.com/abetlen/llama-cpp-python at 0.3.16; later versions are untried.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rdforget.calls.base import Message
from rdforget.models.chat import Chat, chat
from rdforget.models.prefixes import BLOCK, Prefixes, Tokens, aligned, blocks, in_common

KEPT_BYTES = 2**31
"""Most that kept states may take; a history of 6,000 tokens takes 140 MB in the smallest model, 350 MB in one of 7B."""


@dataclass(frozen=True, slots=True)
class Read:
    """A prompt as the model sees it."""

    tokens: Tokens
    beginnings: tuple[int, ...]
    """Lengths of beginnings that are worth keeping, in whole blocks."""


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    tokens: int
    ended: bool
    """False where the cap cut it off."""
    cached: int
    """Tokens of the prompt that were not read anew."""


class StoppedError(Exception):
    """The work was told to stop."""


class Llama:
    """A loaded model. Not for two threads at once."""

    def __init__(self, path: Path, window: int, threads: int | None = None) -> None:
        """ValueError where llama.cpp cannot load the file."""
        self._lib = _lib()
        threads = threads or _processors()
        self._model = self._lib.Llama(
            str(path),
            n_ctx=window,
            n_batch=BLOCK,
            n_ubatch=BLOCK,
            n_threads=threads,
            n_threads_batch=threads,
            flash_attn=False,
            verbose=False,
        )
        self._vocab = self._lib.llama_model_get_vocab(self._model.model)
        self._chat = self._chat_of(self._model.metadata["tokenizer.chat_template"])
        self._loaded: Tokens = ()
        self._prefixes = Prefixes(KEPT_BYTES)

    def read(self, messages: Sequence[Message]) -> Read:
        """The messages as tokens."""
        prompt = self._chat.prompt(messages)
        tokens = self._tokens(prompt.text)
        # Where a beginning ends inside of a token, the token belongs to the rest.
        lengths = (aligned(in_common(self._tokens(text), tokens)) for text in prompt.beginnings)
        return Read(tokens, tuple(length for length in lengths if length))

    def write(
        self,
        prompt: Read,
        cap: int,
        schema: Mapping[str, Any] | None,
        sampling: Mapping[str, Any],
        seed: int,
        stopped: Callable[[], bool],
    ) -> Written:
        """A reply of at most `cap` tokens. StoppedError soon after `stopped` says so: after a block or a token."""
        cached = self._rewind(prompt.tokens)
        last: Tokens = ()
        for end, block in blocks(prompt.tokens, cached):
            if stopped():
                raise StoppedError
            if end == len(prompt.tokens):
                last = block
                break
            self._model.eval(block)
            self._loaded = prompt.tokens[:end]
            if end in prompt.beginnings and not self._prefixes.has(self._loaded):
                self._prefixes.keep(self._loaded, self._saved())
        written: list[int] = []
        ended = False
        for token in self._sampled(last, schema, sampling, seed):
            if stopped():
                raise StoppedError
            if ended := self._lib.llama_vocab_is_eog(self._vocab, token):
                break
            written.append(token)
            if len(written) == cap:
                break
        text = self._model.detokenize(written).decode("utf-8", "replace")
        return Written(text, len(written), ended, cached)

    def close(self) -> None:
        self._model.close()

    def _rewind(self, tokens: Tokens) -> int:
        """Go back to where a prompt can be read on; its last token at least is left, which begins the reply."""
        most = aligned(len(tokens) - 1)
        here = min(aligned(in_common(self._loaded, tokens)), most)
        kept, length = self._prefixes.longest(tokens)
        there = min(aligned(length), most)
        if there > here:
            self._restore(kept)
        at = max(here, there)
        memory = self._lib.llama_get_memory(self._model.ctx)
        if not self._lib.llama_memory_seq_rm(memory, 0, at, -1):  # a model whose state cannot be cut
            self._lib.llama_memory_clear(memory, True)
            at = 0
        self._model.n_tokens, self._loaded = at, tokens[:at]
        return at

    def _sampled(
        self, last: Tokens, schema: Mapping[str, Any] | None, sampling: Mapping[str, Any], seed: int
    ) -> Iterator[int]:
        grammar = self._lib.LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False) if schema else None
        self._model.set_seed(seed)
        tokens: Iterator[int] = self._model.generate(
            last,
            temp=sampling.get("temperature", 1.0),
            top_p=sampling.get("top_p", 1.0),
            top_k=0,
            min_p=0.0,
            grammar=grammar,
            reset=False,
        )
        return tokens

    def _saved(self) -> bytes:
        size = self._lib.llama_state_seq_get_size(self._model.ctx, 0)
        state = (ctypes.c_uint8 * size)()
        written = self._lib.llama_state_seq_get_data(self._model.ctx, state, size, 0)
        return bytes(memoryview(state)[:written])

    def _restore(self, kept: Tokens) -> None:
        state = self._prefixes.state(kept)
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if self._lib.llama_state_seq_set_data(self._model.ctx, buffer, len(state), 0) != len(state):
            raise RuntimeError("llama.cpp could not take a state back that it had given")

    def _tokens(self, text: str) -> Tokens:
        return tuple(self._model.tokenize(text.encode(), add_bos=False, special=True))

    def _chat_of(self, template: str) -> Chat:
        named = {name: token() for name, token in (("bos", self._model.token_bos), ("eos", self._model.token_eos))}
        control = range(self._model.n_vocab())
        marks = [self._text(token) for token in control if self._lib.llama_vocab_is_control(self._vocab, token)]
        return chat(template, self._text(named["bos"]), self._text(named["eos"]), marks)

    def _text(self, token: int) -> str:
        text: bytes = self._lib.llama_vocab_get_text(self._vocab, token) if token >= 0 else b""
        return text.decode("utf-8", "replace")


def _processors() -> int:
    """Half of those that this process may use, where the system tells. llama.cpp's threads wait for each other without
    giving way: with one for every processor, a machine that does something else too brings them nearly to a halt."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(usable // 2, 1)


@cache
def _lib() -> Any:
    """llama.cpp, imported once and silenced: some of its words come before it is asked not to be verbose."""
    import llama_cpp

    llama_cpp.llama_log_set(_silence(llama_cpp.llama_log_callback), ctypes.c_void_p(0))
    return llama_cpp


@cache
def _silence(kind: Any) -> Any:
    """A logger that drops everything; kept alive by the cache, as the library goes on calling it."""
    return kind(lambda level, text, data: None)
