"""The API from Python, with stubs that are made for the purpose: api.stubs() gives the modules, api.connect(switch) the services.

Needs Debian's python3-grpcio and protoc's plug-in; `why_not` says what is missing.
"""
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(HERE, "..", "..", "proto")
HEALTH = "/usr/share/grpc-proto/grpc/health/v1"
PLUGIN = "/usr/bin/grpc_python_plugin"
_made = None


def why_not():
    for what in (os.path.join(HEALTH, "health.proto"), PLUGIN, shutil.which("protoc") or "protoc"):
        if not os.path.exists(what):
            return "no " + what
    try:
        import google.protobuf  # noqa: F401
        import grpc  # noqa: F401
    except ImportError as e:
        return str(e)
    return None


def stubs():
    """All modules of the API under their last names, and grpc."""
    global _made
    if _made is None:
        folder = tempfile.TemporaryDirectory(prefix="sluice-stubs-")
        out = folder.name
        files = ["%s/%s" % (package, name) for package in ("sluice/v1", "google/rpc") for name in sorted(os.listdir(os.path.join(PROTO, package))) if name.endswith(".proto")]
        subprocess.run(["protoc", "-I" + PROTO, "-I" + HEALTH, "--python_out=" + out, "--grpc_python_out=" + out, "--plugin=protoc-gen-grpc_python=" + PLUGIN, *files, "health.proto"],
                       check=True, timeout=60)
        sys.path.insert(0, out)
        _made = types.SimpleNamespace(folder=folder, grpc=importlib.import_module("grpc"))
        for file in files + ["health.proto"]:
            for end in ("_pb2", "_pb2_grpc"):
                module = file[: -len(".proto")].replace("/", ".") + end
                setattr(_made, module.rsplit(".", 1)[-1], importlib.import_module(module))
    return _made


class Api:
    """The services of a running switch."""

    def __init__(self, switch):
        made = stubs()
        self.made = made
        self.channel = made.grpc.insecure_channel("unix://" + switch.socket)
        self.flows = made.flow_service_pb2_grpc.FlowServiceStub(self.channel)
        self.ports = made.port_service_pb2_grpc.PortServiceStub(self.channel)
        self.health = made.health_pb2_grpc.HealthStub(self.channel)
        self.fields = made.fields_pb2
        self.flow_pb2, self.service_pb2 = made.flow_pb2, made.flow_service_pb2

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def spec(self, priority, output=None, table=0, **fields):
        """A flow: fields by their names in the API, as eth_type=0x0800 or ipv4_src=(value, mask). Without an output it drops."""
        match = self.flow_pb2.Match()
        for name, value in fields.items():
            value, mask = value if isinstance(value, tuple) else (value, None)
            match.fields.add(field=self.fields.Field.Value("FIELD_" + name.upper()), value=value, mask=mask)
        actions = [] if output is None else [self.flow_pb2.Action(output=self.flow_pb2.OutputAction(port=output))]
        return self.flow_pb2.FlowSpec(table_id=table, priority=priority, match=match, actions=actions)

    def create(self, spec, **kw):
        return self.flows.CreateFlow(self.service_pb2.CreateFlowRequest(flow=spec, **kw))

    def delete(self, flow_id):
        return self.flows.DeleteFlow(self.service_pb2.DeleteFlowRequest(key=self.service_pb2.FlowKey(id=flow_id))).flow

    def error(self, call, *args):
        """(code's name, text) of a call that must fail."""
        try:
            call(*args)
        except self.made.grpc.RpcError as e:
            return e.code().name, e.details()
        raise AssertionError("the call was not refused")
