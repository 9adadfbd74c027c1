"""Bounds of a spec: numbers that people rely on; lowering one is a change of contract."""

MAX_ARGV_BYTES = 128 << 10
"""All arguments with their terminators; also what Linux allows for one of them."""

MAX_ENV_BYTES = 256 << 10
"""All variables as `NAME=value` with their terminators."""

MAX_ENV_VARIABLE_BYTES = 128 << 10
"""One variable: Linux refuses to start a program with a longer one (MAX_ARG_STRLEN)."""

MAX_FILES = 10_000
MAX_FILES_BYTES = 64 << 30
MAX_OUTPUTS = 1_000
MAX_VARIANTS = 32
MAX_ARRAY = 100_000
MAX_ATTEMPTS = 100
MAX_LABELS = 64
MAX_LABEL_BYTES = 256
MAX_LIST = 100
"""Entries of any other list."""

MAX_DURATION_MS = 366 * 86_400_000
MIN_CPU, MAX_CPU = 10, 10_000_000
"""Thousandths of a core: a hundredth of one to ten thousand."""

MIN_BYTES, MAX_BYTES = 1 << 20, 1 << 50
"""Memory and disk: less than 1 MiB is a forgotten unit."""

MAX_DEVICES = 1024
