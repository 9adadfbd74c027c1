"""The authorization table: complete against the service descriptors, exact about every role."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import intertie.api
from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.pki.identity import ANONYMOUS, Identity
from intertie.pki.spiffe import Role, parse
from intertie.transport.call import Call
from intertie.transport.layers.authorization import AuthorizationLayer, Rule, check_relation
from intertie.transport.methods import METHODS

TD = "intertie.example"
IDS = {
    Role.FEDERATION: f"spiffe://{TD}/federation/r1",
    Role.ADMIN: f"spiffe://{TD}/admin/ann",
    Role.PROJECT: f"spiffe://{TD}/project/genome/bob",
    Role.BILLING: f"spiffe://{TD}/billing/erp",
    Role.WITNESS: f"spiffe://{TD}/witness/w1",
    Role.SCHEDULER: f"spiffe://eu.{TD}/scheduler",
    Role.OPERATOR: f"spiffe://eu.{TD}/operator/olga",
    Role.NODE: f"spiffe://eu.{TD}/node/n1",
}


def identity(role: Role) -> Identity:
    if role is Role.ANONYMOUS:
        return ANONYMOUS
    return Identity.of(parse(IDS[role], TD), serial="1", not_before_ms=0, not_after_ms=1)


def files() -> Iterator[FileDescriptor]:
    """Every generated file under intertie.api, and the services that gRPC brings."""
    yield health_pb2.DESCRIPTOR
    yield reflection_pb2.DESCRIPTOR
    for module in pkgutil.walk_packages(intertie.api.__path__, "intertie.api."):
        if module.name.endswith("_pb2"):
            yield importlib.import_module(module.name).DESCRIPTOR


def served_methods() -> set[str]:
    services: list[ServiceDescriptor] = []
    for file in files():
        services += file.services_by_name.values()
    return {
        f"/{service.full_name}/{method.name}" for service in services for method in service.methods
    }


def test_every_method_has_a_row_and_every_row_a_method() -> None:
    served = served_methods()
    assert served <= set(METHODS)
    # What gRPC brings differs by its version (Health.List); our own rows must be exact.
    assert {row for row in METHODS if row.startswith("/intertie.")} <= served


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_row_admits_its_roles_and_nobody_else(method: str) -> None:
    rule = Rule(method, METHODS[method])
    for role in Role:
        if role in METHODS[method]:
            rule.check(identity(role))
            continue
        with pytest.raises(IntertieError) as caught:
            rule.check(identity(role))
        wanted = Reason.UNAUTHENTICATED if role is Role.ANONYMOUS else Reason.PERMISSION_DENIED
        assert caught.value.reason is wanted


def test_billing_reads_metering_and_nothing_else() -> None:
    allowed = {method for method, roles in METHODS.items() if Role.BILLING in roles}
    own = {
        method for method in allowed if "/intertie.api.federation.v1.EnrollmentService/" in method
    }
    assert {method.rpartition("/")[2] for method in own} == {"RenewCertificate", "WhoAmI"}
    allowed -= own
    services = {method.split("/")[1] for method in allowed}
    assert services == {
        "intertie.api.metering.v1.MeteringService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert not any("Push" in method or "Add" in method for method in allowed)


def test_nothing_but_joining_is_open_to_the_unnamed() -> None:
    open_methods = {method for method, roles in METHODS.items() if Role.ANONYMOUS in roles}
    assert all("EnrollmentService" in method for method in open_methods)


def call_of(role: Role, request: object) -> Call:
    method = "/test.Echo/Say"
    call = Call(method, False, None, request, SystemClock().now())  # type: ignore[arg-type]  # the layer reads no context
    call.peer = call.identity = identity(role)
    return call


class Named:
    def __init__(self, name: str = "", parent: str = "") -> None:
        self.name = name
        self.parent = parent


@pytest.mark.parametrize(
    ("role", "request_", "allowed"),
    [
        (Role.PROJECT, Named(name="projects/genome/tasks/1"), True),
        (Role.PROJECT, Named(parent="projects/genome"), True),
        (Role.PROJECT, Named(name="projects/other/tasks/1"), False),
        (Role.PROJECT, Named(parent="projects/other"), False),
        (Role.PROJECT, Named(parent="projects/-"), False),
        (Role.PROJECT, Named(parent="projects/"), False),
        (Role.PROJECT, Named(name="projects/genome/tasks/1", parent="projects/other"), False),
        (Role.PROJECT, Named(name="projects/genome2/tasks/1"), False),
        (Role.PROJECT, Named(name="regions/us"), True),
        (Role.PROJECT, Named(), True),
        (Role.ADMIN, Named(name="projects/other/tasks/1"), True),
        (Role.OPERATOR, Named(name="regions/eu"), True),
        (Role.OPERATOR, Named(name="regions/us"), False),
        (Role.SCHEDULER, Named(name="regions/us"), False),
        (Role.PROJECT, object(), True),
    ],
)
def test_a_caller_touches_only_its_own(role: Role, request_: object, allowed: bool) -> None:
    layer = AuthorizationLayer({"/test.Echo/Say": frozenset(Role)})
    call = call_of(role, request_)
    if allowed:
        layer.enter(call)
        return
    with pytest.raises(IntertieError) as caught:
        layer.enter(call)
    assert caught.value.reason is Reason.PERMISSION_DENIED


def test_a_handler_can_ask_for_the_relation_too() -> None:
    check_relation(identity(Role.PROJECT), "projects/genome/tasks/1")
    with pytest.raises(IntertieError, match="only projects/genome is its own"):
        check_relation(identity(Role.PROJECT), "projects/x/tasks/1")


@pytest.mark.parametrize(("home", "allowed"), [("eu", True), ("us", False), (None, True)])
def test_a_regional_server_admits_its_own_region_only(home: str | None, allowed: bool) -> None:
    layer = AuthorizationLayer({"/test.Echo/Say": frozenset(Role)}, home_region=home)
    for role in (Role.NODE, Role.OPERATOR, Role.SCHEDULER):
        if allowed:
            layer.enter(call_of(role, Named()))
        else:
            with pytest.raises(IntertieError, match="does not belong to region us"):
                layer.enter(call_of(role, Named()))


def test_a_method_without_a_row_is_a_fault_of_the_build() -> None:
    layer = AuthorizationLayer(METHODS)
    layer.require_rows(METHODS)
    with pytest.raises(AssertionError, match=r"no row .* /test\.New/Say"):
        layer.require_rows(["/test.New/Say"])
