"""Distance between images that forgives small distortions. Pure: arrays in, arrays out.

The image distortion model with local context (Keysers, Deselaers, Gollan, Ney: "Deformation Models
for Image Recognition", IEEE TPAMI 29(8), 2007): the patch around each pixel of one image is
compared with those around the same place and its neighbours in the other; the best match counts.
"""

import numpy as np

SIDE = 8
REACH = 1  # pixels a match may be away
CONTEXT = 1  # pixels of a patch on each side of its centre


def neighbourhoods(images: np.ndarray) -> np.ndarray:
    """The images moved to each neighbour place: (places, images, SIDE, SIDE)."""
    width = 2 * REACH + 1
    padded = np.pad(images.reshape(-1, SIDE, SIDE), ((0, 0), (REACH, REACH), (REACH, REACH)))
    moved = [
        padded[:, down : down + SIDE, right : right + SIDE]
        for down in range(width)
        for right in range(width)
    ]
    return np.stack(moved)


def patch_sums(values: np.ndarray, axis: int) -> np.ndarray:
    """Sums over a sliding window of 2 CONTEXT + 1 along one axis, cut off at the edges."""
    sums = values.copy()
    there, here = np.moveaxis(sums, axis, 0), np.moveaxis(values, axis, 0)
    for offset in range(1, CONTEXT + 1):
        there[offset:] += here[:-offset]
        there[:-offset] += here[offset:]
    return sums


def distances(image: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Distance of one image to each of those that `neighbourhoods` prepared."""
    defects = np.square(moved - image.reshape(SIDE, SIDE))
    patches = patch_sums(patch_sums(defects, axis=2), axis=3)
    return patches.min(axis=0).sum(axis=(1, 2))


def vote(near: np.ndarray, labels: np.ndarray, neighbours: int) -> int:
    """The most frequent label among the nearest images; the smallest label wins a tie."""
    nearest = np.argsort(near, kind="stable")[:neighbours]
    return int(np.bincount(labels[nearest]).argmax())
