"""The policy: a small network that writes one token at a time, and the gradient step that improves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rl_insight.demo.puzzle import MAX_TURNS, SLOTS, TOOLS, VOCABULARY, Attempt, Puzzle, calculate, complete

Array: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = dict[str, Array]

_PLACES = 3  # a turn has at most three tokens: a tool and two slots
_TOKEN = {token: index for index, token in enumerate(VOCABULARY)}
_TOOL_INPUTS = len(TOOLS) + 1
INPUTS = _TOOL_INPUTS + MAX_TURNS + _PLACES + (_PLACES - 1) * len(VOCABULARY)
_HIDDEN = 48


def _grammar() -> Array:
    """What a base model has learned before RL: how a turn is written, though not which call is the right one."""
    bias = np.full((_PLACES, len(VOCABULARY)), -2.5, dtype=np.float32)
    bias[0, [_TOKEN[token] for token in (*TOOLS, "answer")]] = 0.0
    bias[1:, [_TOKEN[token] for token in SLOTS]] = 0.0
    return bias


_GRAMMAR = _grammar()


def start_weights(seed: int) -> Weights:
    rng = np.random.default_rng(seed)
    return {
        "hidden": (rng.standard_normal((INPUTS, _HIDDEN)) / np.sqrt(8)).astype(np.float32),
        "hidden_bias": np.zeros(_HIDDEN, dtype=np.float32),
        "out": (rng.standard_normal((_HIDDEN, len(VOCABULARY))) * 0.01).astype(np.float32),
        "out_bias": np.zeros(len(VOCABULARY), dtype=np.float32),
    }


def observe(attempt: Attempt, turn: list[str]) -> Array:
    """What the policy sees before the next token: the next operation of the puzzle, the calls made, this turn."""
    seen = np.zeros(INPUTS, dtype=np.float32)
    left = attempt.puzzle.operations[len(attempt.results) :]
    seen[TOOLS.index(left[0]) if left else len(TOOLS)] = 1.0
    at = _TOOL_INPUTS
    seen[at + min(len(attempt.results), MAX_TURNS - 1)] = 1.0
    at += MAX_TURNS
    seen[at + len(turn)] = 1.0
    at += _PLACES
    for place, token in enumerate(turn):
        seen[at + place * len(VOCABULARY) + _TOKEN[token]] = 1.0
    return seen


def _log_softmax(scores: Array) -> Array:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)), dtype=np.float32)


def _scores(weights: Weights, seen: Array) -> tuple[Array, Array]:
    hidden = np.tanh(seen @ weights["hidden"] + weights["hidden_bias"])
    place = seen[..., _TOOL_INPUTS + MAX_TURNS : _TOOL_INPUTS + MAX_TURNS + _PLACES]
    return hidden, hidden @ weights["out"] + weights["out_bias"] + place @ _GRAMMAR


def next_token(weights: Weights, seen: Array, rng: np.random.Generator | None) -> tuple[int, float]:
    """Draw a token (the likeliest one without an rng) and its log probability."""
    logs = _log_softmax(_scores(weights, seen)[1])
    # The largest of logs plus Gumbel noise is a fair draw, and cheaper than normalising first.
    token = int((logs if rng is None else logs + rng.gumbel(size=len(logs))).argmax())
    return token, float(logs[token])


def solve(weights: Weights, puzzle: Puzzle) -> Attempt:
    """Try a puzzle with the likeliest tokens and no waiting; for evaluation."""
    attempt = Attempt(puzzle)
    while not attempt.over:
        turn: list[str] = []
        while not turn or not complete(turn):
            turn.append(VOCABULARY[next_token(weights, observe(attempt, turn), None)[0]])
        call = attempt.take(turn)
        if call is not None:
            attempt.results.append(calculate(call.tool, call.left, call.right))
    return attempt


@dataclass
class Tokens:
    """Written tokens as arrays: what was seen, what was chosen, how likely it was then, how good it turned out."""

    seen: Array
    chosen: NDArray[np.int64]
    log_probability: Array
    advantage: Array

    def part(self, rows: NDArray[np.int64]) -> Tokens:
        return Tokens(self.seen[rows], self.chosen[rows], self.log_probability[rows], self.advantage[rows])


@dataclass
class Forward:
    """What the backward pass needs from the forward pass, and what is worth plotting."""

    tokens: Tokens
    hidden: Array
    logs: Array
    ratio: Array
    loss: float
    entropy: float
    clipped: float
    kl: float


CLIP = 0.2
ENTROPY_WEIGHT = 0.02


def forward(weights: Weights, tokens: Tokens) -> Forward:
    """The clipped policy loss: tokens written by older weights count through their probability ratio."""
    hidden, scores = _scores(weights, tokens.seen)
    logs = _log_softmax(scores)
    chosen = np.take_along_axis(logs, tokens.chosen[:, None], axis=1)[:, 0]
    change = chosen - tokens.log_probability
    ratio = np.exp(change)
    gain = np.minimum(ratio * tokens.advantage, np.clip(ratio, 1 - CLIP, 1 + CLIP) * tokens.advantage)
    entropy = -(np.exp(logs) * logs).sum(axis=1)
    return Forward(
        tokens,
        hidden,
        logs,
        ratio,
        loss=float(-gain.mean() - ENTROPY_WEIGHT * entropy.mean()),
        entropy=float(entropy.mean()),
        clipped=float((np.abs(ratio - 1) > CLIP).mean()),
        kl=float(-change.mean()),
    )


def backward(weights: Weights, seen: Forward) -> Weights:
    """Gradients of the loss, by hand."""
    tokens, logs = seen.tokens, seen.logs
    probability = np.exp(logs)
    # Where clipping holds the gain, its slope is zero.
    held = ((tokens.advantage > 0) & (seen.ratio > 1 + CLIP)) | ((tokens.advantage < 0) & (seen.ratio < 1 - CLIP))
    pull = np.where(held, 0.0, seen.ratio * tokens.advantage)
    one_hot = np.zeros_like(probability)
    one_hot[np.arange(len(tokens.chosen)), tokens.chosen] = 1.0
    by_score = -pull[:, None] * (one_hot - probability)
    entropy = -(probability * logs).sum(axis=1, keepdims=True)
    by_score += ENTROPY_WEIGHT * probability * (logs + entropy)
    by_score = (by_score / len(tokens.chosen)).astype(np.float32)
    by_hidden = (by_score @ weights["out"].T) * (1 - seen.hidden**2)
    return {
        "hidden": tokens.seen.T @ by_hidden,
        "hidden_bias": by_hidden.sum(axis=0),
        "out": seen.hidden.T @ by_score,
        "out_bias": by_score.sum(axis=0),
    }


class Adam:
    """The usual optimizer, with the gradient's norm cut to one."""

    def __init__(self, weights: Weights, rate: float) -> None:
        self.rate = rate
        self.steps = 0
        self.mean = {name: np.zeros_like(value) for name, value in weights.items()}
        self.square = {name: np.zeros_like(value) for name, value in weights.items()}

    def step(self, weights: Weights, gradients: Weights) -> tuple[Weights, float]:
        """The new weights, and how long the gradient was before it was cut."""
        self.steps += 1
        norm = float(np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradients.values())))
        cut = min(1.0, 1.0 / norm) if norm > 0 else 1.0
        updated: dict[str, Any] = {}
        for name, gradient in gradients.items():
            gradient = gradient * cut
            self.mean[name] = 0.9 * self.mean[name] + 0.1 * gradient
            self.square[name] = 0.99 * self.square[name] + 0.01 * gradient**2
            mean = self.mean[name] / (1 - 0.9**self.steps)
            square = self.square[name] / (1 - 0.99**self.steps)
            updated[name] = (weights[name] - self.rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
        return updated, norm
