"""Classify one shard of an image set: task i of N in an array takes images i, i + N, i + 2N, ...

The model is the labelled image set itself: k nearest neighbours under a distance that forgives
small distortions. An image never counts as its own neighbour: the accuracy is that of unseen ones.
"""

import argparse
import csv
import json
import os
from pathlib import Path

import distortion
import numpy as np
from sklearn.datasets import load_digits

NEIGHBOURS = 3
PROGRESS_EVERY = 100


def classify(images: np.ndarray, labels: np.ndarray, chosen: range) -> list[int]:
    """Predicted label of each chosen image."""
    moved = distortion.neighbourhoods(images)
    predictions = []
    for done, index in enumerate(chosen, start=1):
        near = distortion.distances(images[index], moved)
        near[index] = np.inf
        predictions.append(distortion.vote(near, labels, NEIGHBOURS))
        if done % PROGRESS_EVERY == 0 or done == len(chosen):
            print(f"{done}/{len(chosen)} images", flush=True)
    return predictions


def main() -> None:
    """Take the shard from the environment, classify it, write the outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--limit", type=int, default=None, help="use only the first images")
    options = parser.parse_args()
    shard = int(os.environ.get("INTERTIE_ARRAY_INDEX", "0"))
    if not 0 <= shard < options.shards:
        parser.error(f"array index {shard} is not below --shards {options.shards}")

    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)[: options.limit]
    labels = digits.target[: options.limit]
    chosen = range(shard, len(labels), options.shards)
    predictions = classify(images, labels, chosen)
    right = sum(
        predicted == labels[index] for index, predicted in zip(chosen, predictions, strict=True)
    )

    out = Path(os.environ.get("INTERTIE_OUTPUT_DIR", "out"))
    out.mkdir(parents=True, exist_ok=True)
    with (out / "predictions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "predicted", "label"])
        writer.writerows(zip(chosen, predictions, labels[list(chosen)].tolist(), strict=True))
    metrics = {"shard": shard, "images": len(chosen), "accuracy": right / len(chosen)}
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(f"shard {shard}: {right} of {len(chosen)} right", flush=True)


if __name__ == "__main__":
    main()
