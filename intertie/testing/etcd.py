"""A real etcd for tests: one member or several, on private loopback ports, with or without TLS.

Processes are started and signalled by handle and die with the test run. Nothing here is async.
Waiting takes 0.3 to 2 s, so an async test waits through `asyncio.to_thread`, but starts on the main
thread: the kernel ends the process when the thread that started it ends.
"""

import contextlib
import http.client
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from intertie.testing.waiting import eventually_sync

START_S = 20.0


def etcd_binary() -> str | None:
    """Where the etcd server is, if it is installed (Debian: `etcd-server`)."""
    return shutil.which("etcd")


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Files by which a server proves itself and checks its clients."""

    root: Path
    certificate: Path
    key: Path


class EtcdNode:
    """One etcd process and the directory it lives in. It keeps its ports over restarts."""

    def __init__(
        self, name: str, directory: Path, ports: tuple[int, int, int], tls: ServerTls | None
    ) -> None:
        self.name = name
        self._directory = directory
        self._client_port, self._peer_port, self._health_port = ports
        self._tls = tls
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """`host:port` for clients."""
        return f"127.0.0.1:{self._client_port}"

    @property
    def peer_url(self) -> str:
        """The address among members; plain text, on loopback only."""
        return f"http://127.0.0.1:{self._peer_port}"

    def start(self, initial_cluster: str) -> None:
        """Start the process; `wait_healthy` waits until it serves."""
        assert self._process is None, f"{self.name} runs already"
        binary = etcd_binary()
        assert binary is not None, "etcd is not installed (Debian: apt-get install etcd-server)"
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_dying_with_us(), binary, *self._flags(initial_cluster)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={},
            )

    def _flags(self, initial_cluster: str) -> Sequence[str]:
        scheme = "https" if self._tls else "http"
        url = f"{scheme}://{self.endpoint}"
        flags = {
            "name": self.name,
            "data-dir": str(self._directory / "data"),
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "listen-peer-urls": self.peer_url,
            "initial-advertise-peer-urls": self.peer_url,
            "initial-cluster": initial_cluster,
            "listen-metrics-urls": f"http://127.0.0.1:{self._health_port}",
            # Quick elections; they also allow leases of 1 s (etcd's least is 1.5 elections).
            "heartbeat-interval": "50",
            "election-timeout": "500",
            "logger": "zap",
            "log-level": "warn",
        }
        if self._tls:
            flags |= {
                "cert-file": str(self._tls.certificate),
                "key-file": str(self._tls.key),
                "trusted-ca-file": str(self._tls.root),
                "client-cert-auth": "true",
            }
        return [f"--{name}={value}" for name, value in flags.items()]

    def is_healthy(self) -> bool:
        """Whether the member serves and sees a leader."""
        return b'"health":"true"' in self._ask("/health")

    def is_leader(self) -> bool:
        """Whether the member leads its cluster."""
        return b"\netcd_server_is_leader 1\n" in self._ask("/metrics")

    def kill(self) -> None:
        """End the process as a crash does, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process in good order; a frozen one is killed."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Stop the process in its tracks; its connections stay open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, f"{self.name} does not run"
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(number)
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._health_port, timeout=1)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                return connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                return b""


class EtcdServers:
    """A cluster of etcd processes under one directory."""

    def __init__(self, directory: Path, size: int = 1, tls: ServerTls | None = None) -> None:
        ports = iter(free_ports(3 * size))
        self.nodes = [
            EtcdNode(f"n{i}", directory / f"n{i}", (next(ports), next(ports), next(ports)), tls)
            for i in range(size)
        ]

    @property
    def endpoints(self) -> Sequence[str]:
        """`host:port` of each member."""
        return [node.endpoint for node in self.nodes]

    def start(self) -> None:
        """Start all members and wait until they serve."""
        for node in self.nodes:
            self.start_node(node)
        for node in self.nodes:
            self.wait_healthy(node)

    def start_node(self, node: EtcdNode) -> None:
        """Start one member, for the first time or again; does not wait."""
        node.start(",".join(f"{n.name}={n.peer_url}" for n in self.nodes))

    def wait_healthy(self, node: EtcdNode) -> None:
        """Wait until a member serves and sees a leader."""
        eventually_sync(node.is_healthy, START_S, what=f"etcd member {node.name} serving")

    def leader(self) -> EtcdNode:
        """The leading member; waits until there is one."""
        leaders = eventually_sync(
            lambda: [node for node in self.nodes if node.is_leader()],
            START_S,
            what="an etcd leader",
        )
        return leaders[0]

    def stop(self) -> None:
        """End all members; idempotent."""
        for node in self.nodes:
            node.kill()


@contextlib.contextmanager
def running_etcd(
    directory: Path, size: int = 1, tls: ServerTls | None = None
) -> Iterator[EtcdServers]:
    """A cluster that serves for as long as the context is open."""
    servers = EtcdServers(directory, size, tls)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


def free_ports(count: int) -> Sequence[int]:
    """Loopback ports that the kernel says are free; another process may still take them first."""
    with contextlib.ExitStack() as open_sockets:
        ports = []
        for _ in range(count):
            listener = open_sockets.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            ports.append(int(listener.getsockname()[1]))
        return ports


def _dying_with_us() -> Sequence[str]:
    """A prefix by which the kernel ends the process when the test run dies, where it can."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
