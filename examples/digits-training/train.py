"""Train a digit classifier that survives being stopped, killed and moved.

Everything random is drawn from (seed, epoch), so a run that resumes from a checkpoint computes
exactly what an uninterrupted one computes. Data: scikit-learn's bundled digits (see README.md).
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import checkpoints
import network
import numpy as np
from sklearn.datasets import load_digits

SEED = 20240229
TEST_SHARE = 5  # every fifth image of the shuffled set is held out
BATCH = 64
STOPPED = 128 + signal.SIGTERM

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class StopNotice:
    """SIGTERM means: checkpoint and exit. The flag is read at epoch boundaries."""

    def __init__(self) -> None:
        self.given = False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, *_: object) -> None:
        self.given = True


def load() -> Split:
    """Training images and labels, then the held-out ones; pixels scaled to 0..1."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    images = (digits.data[order] / 16.0).astype(np.float32)
    labels = digits.target[order]
    held_out = np.arange(len(labels)) % TEST_SHARE == 0
    return images[~held_out], labels[~held_out], images[held_out], labels[held_out]


def accuracy(state: checkpoints.Arrays, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of the images whose best class is right."""
    scores = network.logits(state, images)[-1]
    return float((scores.argmax(axis=1) == labels).mean())


def train_epoch(
    state: checkpoints.Arrays, images: np.ndarray, labels: np.ndarray, epoch: int, copies: int
) -> float:
    """One pass over `copies` augmented versions of the training set; returns the mean loss."""
    random = np.random.default_rng((SEED, epoch))
    rate = 0.04 / (1.0 + 0.1 * epoch)
    losses = []
    for _ in range(copies):
        seen = network.augmented(images, random)
        order = random.permutation(len(labels))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            losses.append(network.step(state, seen[batch], labels[batch], rate))
    return float(np.mean(losses))


def train(options: argparse.Namespace, data: Split, stop: StopNotice) -> checkpoints.Arrays:
    """Train to the last epoch, from the newest checkpoint if there is one."""
    images, labels, test_images, test_labels = data
    folder = checkpoints.folder()
    found = checkpoints.load_newest(folder)
    epoch, state = found or (0, network.initial_state(SEED))
    print(f"resumed from step {epoch}" if found else "started from step 0", flush=True)
    saved_at = time.monotonic()
    while epoch < options.epochs:
        loss = train_epoch(state, images, labels, epoch, options.copies)
        epoch += 1
        right = accuracy(state, test_images, test_labels)
        print(f"epoch {epoch}/{options.epochs} loss {loss:.4f} accuracy {right:.4f}", flush=True)
        due = time.monotonic() - saved_at >= options.checkpoint_every
        if due or stop.given or epoch == options.epochs:
            checkpoints.save(folder, epoch, state)
            saved_at = time.monotonic()
            print(f"checkpoint at step {epoch}", flush=True)
        if stop.given and epoch < options.epochs:
            print("stop notice: exiting after the checkpoint", flush=True)
            sys.exit(STOPPED)
    return state


def main() -> None:
    """Parse the command line, train, write the outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--copies", type=int, default=24, help="augmented copies per epoch")
    parser.add_argument("--checkpoint-every", type=float, default=1.0, metavar="SECONDS")
    options = parser.parse_args()
    stop = StopNotice()
    data = load()
    state = train(options, data, stop)

    out = Path(os.environ.get("INTERTIE_OUTPUT_DIR", "out"))
    out.mkdir(parents=True, exist_ok=True)
    weights = {name: array for name, array in state.items() if not name.startswith("m_")}
    np.savez(out / "model.npz", **weights)
    metrics = {
        "epochs": options.epochs,
        "train_images": len(data[1]),
        "test_images": len(data[3]),
        "test_accuracy": accuracy(state, data[2], data[3]),
    }
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(f"test accuracy {metrics['test_accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
