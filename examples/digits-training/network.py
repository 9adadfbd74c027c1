"""A multilayer perceptron with momentum SGD in numpy. Pure: arrays in, arrays out, no files.

Parameters and momenta are one flat dictionary of arrays, so a checkpoint is that dictionary.
"""

import numpy as np

Arrays = dict[str, np.ndarray]

SIDE = 8  # an image is 8 x 8 pixels
CLASSES = 10
HIDDEN = 384
LAYERS = ((SIDE * SIDE, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, CLASSES))


def initial_state(seed: int) -> Arrays:
    """He-initialised weights, zero biases, zero momenta."""
    random = np.random.default_rng(seed)
    state: Arrays = {}
    for i, (fan_in, fan_out) in enumerate(LAYERS):
        weights = random.standard_normal((fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
        state[f"w{i}"] = weights.astype(np.float32)
        state[f"b{i}"] = np.zeros(fan_out, dtype=np.float32)
    momenta = {f"m_{name}": np.zeros_like(array) for name, array in state.items()}
    return state | momenta


def logits(state: Arrays, images: np.ndarray) -> list[np.ndarray]:
    """Activations of every layer, inputs first, class scores last."""
    activations = [images]
    for i in range(len(LAYERS)):
        scores = activations[-1] @ state[f"w{i}"] + state[f"b{i}"]
        activations.append(scores if i == len(LAYERS) - 1 else np.maximum(scores, 0.0))
    return activations


def step(state: Arrays, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
    """One update in place on one batch; returns the batch's mean cross-entropy."""
    activations = logits(state, images)
    rows = np.arange(len(labels))
    shifted = activations[-1] - activations[-1].max(axis=1, keepdims=True)
    probabilities = np.exp(shifted)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    loss = float(-np.log(probabilities[rows, labels] + 1e-12).mean())

    gradient = probabilities
    gradient[rows, labels] -= 1.0
    gradient /= len(labels)
    for i in reversed(range(len(LAYERS))):
        below = activations[i]
        updates = {f"w{i}": below.T @ gradient, f"b{i}": gradient.sum(axis=0)}
        gradient = (gradient @ state[f"w{i}"].T) * (below > 0.0)
        for name, update in updates.items():
            momentum = state[f"m_{name}"]
            momentum *= 0.9
            momentum -= rate * update
            state[name] += momentum
    return loss


def augmented(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The images moved by up to one pixel each way and with a little noise."""
    squares = images.reshape(-1, SIDE, SIDE)
    padded = np.pad(squares, ((0, 0), (1, 1), (1, 1)))
    down, right = random.integers(0, 3, size=2)
    moved = padded[:, down : down + SIDE, right : right + SIDE].reshape(len(images), -1)
    return moved + 0.05 * random.standard_normal(moved.shape, dtype=np.float32)
