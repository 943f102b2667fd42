# SPDX-License-Identifier: MIT
"""Trains the ledger model in two stages.

    python train.py pretrain --out stage1.pt
    python train.py finetune --start stage1.pt --out ledger.pt

The first stage learns the task: problems grow from 1 or 2 steps to 14 during its first half. The
second hides scratch tokens: those older than 40 tokens vanish at random from the attention, at a
rate drawn anew for every problem, while the prompt and the recorded results stay. It teaches the
model to read a value where it was recorded and not from any copy, so that a cache which keeps the
recorded results keeps all that matters.

Every schedule counts batches and every number comes from a stated seed, so that a run repeats on
the same machine with the same number of threads and the same version of PyTorch; a run that was
stopped and goes on from its --checkpoint ends with the same weights as one that was not.
"""

import argparse
import dataclasses
import os
import random
import time

import torch
from torch.nn import functional

import task
from model import Config, Model

INITIAL_VALUES = 4
MOST_STEPS = 14
TOKENS_PER_BATCH = 2500
WARM_UP = 100  # batches
HIDDEN_AFTER = 40  # tokens


@dataclasses.dataclass(frozen=True)
class Stage:
    batches: int
    seed: int  # of the problems
    learning_rate: float
    decay_from: float  # share of the batches after which the learning rate falls
    hides_scratch: bool


STAGES = {
    "pretrain": Stage(18000, seed=1, learning_rate=3e-3, decay_from=0.6, hides_scratch=False),
    "finetune": Stage(3800, seed=2, learning_rate=1e-3, decay_from=0.0, hides_scratch=True),
}
INITIAL_WEIGHTS_SEED = 0


def learning_rate(stage: Stage, batch: int, batches: int) -> float:
    """Linear warm-up, a constant part, then a linear fall to 2 %."""
    rising = min(1.0, (batch + 1) / WARM_UP)
    falling = min(1.0, (1 - batch / batches) / (1 - stage.decay_from))
    return stage.learning_rate * rising * max(0.02, falling)


def draw_steps(stage: Stage, rng: random.Random, batch: int, batches: int) -> int:
    """How many steps the problems of a batch have."""
    if stage.hides_scratch:
        return rng.randint(4, MOST_STEPS)
    growth = min(1.0, batch / (batches / 2))
    longest = 2 + int(growth * (MOST_STEPS - 2))
    # Mostly near the longest; one batch in five recalls the short ones.
    shortest = max(1, longest - 5) if rng.random() < 0.8 else 1
    return rng.randint(shortest, longest)


def draw_batch(stage: Stage, rng: random.Random, steps: int):
    """Tokens [batch, length], which of them count for the loss, and which are hidden when old."""
    count = max(4, TOKENS_PER_BATCH // (46 * steps + 40))
    problems = [task.make_problem(rng, INITIAL_VALUES, steps) for _ in range(count)]
    length = max(len(problem.text) for problem in problems)
    tokens = torch.full((count, length), task.PADDING)
    counts = torch.zeros(count, length)
    hidden = torch.zeros(count, length, dtype=torch.bool)
    for row, problem in enumerate(problems):
        text, start = problem.text, len(problem.prompt)
        tokens[row, : len(text)] = torch.tensor([task.TOKEN[c] for c in text])
        counts[row, start : len(text)] = 1
        if stage.hides_scratch:
            rate = rng.random()
            for at in range(start, len(text)):
                hidden[row, at] = not task.is_recorded(text, at) and rng.random() < rate
    return tokens, counts, hidden


def visibility(hidden):
    """Which query (row) sees which key (column), [batch, 1, length, length]."""
    place = torch.arange(hidden.shape[1])
    age = place[:, None] - place[None, :]
    return ((age >= 0) & ~(hidden[:, None, :] & (age > HIDDEN_AFTER)))[:, None]


def loss_of(model: Model, stage: Stage, tokens, counts, hidden):
    """The mean loss of the next token over the traces; prompts are given, not learnt."""
    visible = visibility(hidden[:, :-1]) if stage.hides_scratch else None
    logits = model(tokens[:, :-1], visible)
    losses = functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    return (losses * counts[:, 1:]).sum() / counts[:, 1:].sum()


class Checkpoint:
    """The state between two batches in a file, replaced as a whole."""

    def __init__(self, path, every: int, stage: str, batches: int):
        self.path, self.every, self.run = path, every, [stage, batches]

    def save(self, batch: int, model, optimizer, rng: random.Random, recent, curve) -> None:
        if not self.path or batch % self.every != 0:
            return
        state = {
            "run": self.run,
            "batch": batch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "rng": rng.getstate(),
            "recent": recent,
            "curve": curve,
        }
        torch.save(state, self.path + ".new")
        os.replace(self.path + ".new", self.path)

    def load(self, model, optimizer, rng: random.Random):
        """The next batch, the losses since the last report and the reported means."""
        if not self.path or not os.path.exists(self.path):
            return 0, [], []
        state = torch.load(self.path, weights_only=True)
        if state["run"] != self.run:
            raise SystemExit(f"{self.path} is of the run {state['run']}, not {self.run}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        version, numbers, gauss = state["rng"]
        rng.setstate((version, tuple(numbers), gauss))
        return state["batch"], state["recent"], state["curve"]


def write_curve(path, curve) -> None:
    if not path:
        return
    with open(path, "w", encoding="utf-8") as out:
        out.write("batch,loss\n")
        out.writelines(f"{batch},{loss:.4g}\n" for batch, loss in curve)


def train(
    stage: Stage, model: Model, batches: int, report_every: int, kept: Checkpoint, curve_path
) -> None:
    rng = random.Random(stage.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=stage.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    begun = time.monotonic()
    first, recent, curve = kept.load(model, optimizer, rng)
    for batch in range(first, batches):
        steps = draw_steps(stage, rng, batch, batches)
        loss = loss_of(model, stage, *draw_batch(stage, rng, steps))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(stage, batch, batches)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

        recent.append(loss.item())
        if (batch + 1) % report_every == 0 or batch + 1 == batches:
            mean = sum(recent) / len(recent)
            elapsed = time.monotonic() - begun
            print(f"batch {batch + 1} of {batches}  loss {mean:.5f}  {elapsed:.0f} s", flush=True)
            curve.append([batch + 1, mean])
            write_curve(curve_path, curve)
            recent.clear()
        kept.save(batch + 1, model, optimizer, rng, recent, curve)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=STAGES, help="what to train")
    parser.add_argument("--out", required=True, help="where the weights go")
    parser.add_argument("--start", help="weights to begin with; required by finetune")
    parser.add_argument("--batches", type=int, help="instead of 18000 (pretrain), 3800 (finetune)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch (default: 1)")
    parser.add_argument("--report-every", type=int, default=100, metavar="BATCHES")
    parser.add_argument("--losses", help="CSV file of the reported losses, for plot_losses.py")
    parser.add_argument("--checkpoint", help="file to go on from, if it exists, and to keep")
    parser.add_argument("--checkpoint-every", type=int, default=500, metavar="BATCHES")
    arguments = parser.parse_args()
    stage = STAGES[arguments.stage]
    if stage.hides_scratch and not arguments.start:
        parser.error("finetune needs --start, the weights of the first stage")
    batches = stage.batches if arguments.batches is None else arguments.batches
    every = arguments.checkpoint_every
    if min(batches, arguments.threads, arguments.report_every, every) < 1:
        parser.error("--batches, --threads and both intervals must be positive")

    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(INITIAL_WEIGHTS_SEED)
    model = Model(Config(task.VOCABULARY))
    if arguments.start:
        model.load_state_dict(torch.load(arguments.start, weights_only=True))
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    kept = Checkpoint(arguments.checkpoint, every, arguments.stage, batches)
    train(stage, model, batches, arguments.report_every, kept, arguments.losses)
    torch.save(model.state_dict(), arguments.out)


if __name__ == "__main__":
    main()
