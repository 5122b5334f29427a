"""A private Kafka broker (KRaft, one node, loopback) and its command-line tools.

    kafka_broker.py [VERSION]     runs one until interrupted and prints its bootstrap address

The jars come from tests/install.sh. What a broker writes lies in one temporary directory, removed by close().
"""
import base64
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (AclBinding, AclBindingFilter, AclOperation, AclPermissionType, AdminClient,
                                   AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec,
                                   ResourcePatternType, ResourceType)

from child import Child, free_port

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = (HERE / "versions").read_text().split()
DEFAULT = VERSIONS[0]

# Users of the SASL listener of a broker with acl=True. admin may do everything, the others what Broker.allow says.
USERS = {"admin": "admin-secret", "auditor": "auditor-secret", "worker": "worker-secret"}

# Resources that ACLs are about, as Broker.allow takes them.
RESOURCES = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP, "cluster": ResourceType.BROKER,
             "transactional-id": ResourceType.TRANSACTIONAL_ID}

JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true",
       "-Dorg.slf4j.simpleLogger.showDateTime=true"]


def jars(version=DEFAULT):
    """The class path of one version's broker and tools."""
    lib = HERE / ".cache" / version / "lib"
    if not lib.is_dir():
        raise RuntimeError(f"no jars of Kafka {version}: run tests/install.sh check")
    return f"{lib}/*"


def run_tool(version, klass, *args, check=True, timeout=60, stdin=None):
    """Runs a class of Kafka's as a command; gives subprocess.CompletedProcess with text output."""
    argv = ["java", *JVM, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", jars(version), klass,
            *map(str, args)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, input=stdin)
    if check and done.returncode != 0:
        raise RuntimeError(f"{klass} {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def kafka_uuid():
    """A random id as Kafka writes them: never one that starts with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


class Broker:
    """.bootstrap is open to everyone; with acl=True .sasl_bootstrap obeys ACLs, and sasl(user) are a client's settings.

    options: further lines of server.properties, as a dict; they win over those below.
    """

    def __init__(self, version=DEFAULT, acl=False, options=None, heap="512m"):
        self.version = version
        self.acl = acl
        self.options = dict(options or {})
        self.heap = heap
        self.child = None
        self._admin = None
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-kafka-"))
        self.log = self.dir / "broker.log"
        try:
            self._first_start()
        except BaseException:
            self.close()
            raise

    # -- life ----------------------------------------------------------------------------------------------------

    def _first_start(self, attempts=3):
        for attempt in range(attempts):
            self.port, self.controller_port, self.sasl_port = free_port(), free_port(), free_port()
            self.cluster_id = kafka_uuid()
            self._format()
            try:
                return self.start()
            except RuntimeError as e:       # another process took a port between our look and the broker's
                if attempt + 1 == attempts or "Address already in use" not in str(e):
                    raise

    def _format(self):
        data = self.dir / "data"
        shutil.rmtree(data, ignore_errors=True)
        properties = self.dir / "server.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
        run_tool(self.version, "kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", properties)

    def _properties(self):
        properties = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": self.dir / "data",
            "auto.create.topics.enable": "false",
            "default.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.num.partitions": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 500,
            # so that what time does to a topic happens within a test
            "log.initial.task.delay.ms": 100,
            "log.retention.check.interval.ms": 1000,
            "log.cleaner.backoff.ms": 200,
            "log.cleaner.dedupe.buffer.size": 16 << 20,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
            "num.network.threads": 2,
            "num.io.threads": 4,
        }
        if self.acl:
            users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
            properties.update({
                "listeners": f"{properties['listeners']},SASL://127.0.0.1:{self.sasl_port}",
                "advertised.listeners": f"{properties['advertised.listeners']},SASL://127.0.0.1:{self.sasl_port}",
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS;User:admin",
                "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config":
                    f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};",
            })
        return {**properties, **self.options}

    def start(self, timeout=60):
        """Starts it on the same ports and data. Returns when clients are answered."""
        argv = ["java", *JVM, f"-Xmx{self.heap}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp", jars(self.version), "kafka.Kafka", self.dir / "server.properties"]
        self.child = Child(argv, self.log)
        self.child.wait_until(self._accepts, timeout)
        self.child.wait_until(self._answers, timeout)

    def _accepts(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def _answers(self):
        try:
            metadata = self.admin.list_topics(timeout=5)
        except KafkaException:
            return False
        if metadata.cluster_id != self.cluster_id:
            raise RuntimeError("Address already in use")
        return bool(metadata.brokers)

    def stop(self, clean=True):
        """Takes it away; start() brings it back: in 2 s, or in 11 s where clean=False cut its power."""
        self._admin = None
        if self.child:
            self.child.stop(clean)

    def pause(self):
        """It keeps its connections and says nothing, until resume()."""
        self.child.signal(signal.SIGSTOP)

    def resume(self):
        self.child.signal(signal.SIGCONT)

    def close(self):
        self.stop(clean=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    # -- addresses -----------------------------------------------------------------------------------------------

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def sasl_bootstrap(self):
        return f"127.0.0.1:{self.sasl_port}"

    def sasl(self, user):
        """librdkafka's settings to come in as a user of the listener that obeys ACLs."""
        return {"bootstrap.servers": self.sasl_bootstrap, "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "PLAIN", "sasl.username": user, "sasl.password": USERS[user]}

    def allow(self, user, resource, name, *operations):
        """allow("auditor", "topic", "orders", "READ", "DESCRIBE"); a name that ends in * is a prefix."""
        prefix = name.endswith("*") and name != "*"
        pattern = ResourcePatternType.PREFIXED if prefix else ResourcePatternType.LITERAL
        rules = [AclBinding(RESOURCES[resource], name[:-1] if prefix else name, pattern, f"User:{user}", "*",
                            AclOperation[operation], AclPermissionType.ALLOW) for operation in operations]
        self._all(self.admin.create_acls(rules))
        self._wait(lambda: set(rules) <= set(self._rules(user)), "the rules to hold")

    def disallow(self, user):
        """Takes away everything that allow() gave the user."""
        self._all(self.admin.delete_acls([self._rules_of(user)]))
        self._wait(lambda: not self._rules(user), "the rules to go")

    def _rules(self, user):
        return self.admin.describe_acls(self._rules_of(user)).result(30)

    @staticmethod
    def _rules_of(user):
        return AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, AclOperation.ANY,
                                AclPermissionType.ANY)

    @property
    def admin(self):
        """A confluent_kafka AdminClient with all rights."""
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        return self._admin

    def tool(self, klass, *args, check=True, timeout=60, stdin=None):
        """Runs a class of Kafka's command line; --bootstrap-server is the caller's to give."""
        return run_tool(self.version, klass, *args, check=check, timeout=timeout, stdin=stdin)

    # -- topics --------------------------------------------------------------------------------------------------

    def create_topic(self, name, partitions=1, config=None):
        self._all(self.admin.create_topics(
            [NewTopic(name, num_partitions=partitions, replication_factor=1,
                      config={k: str(v) for k, v in (config or {}).items()})]))
        self._wait(lambda: self._serves(name, partitions), f"topic {name} to appear")
        return name

    def delete_topic(self, name):
        self._all(self.admin.delete_topics([name], operation_timeout=30))
        self._wait(lambda: self.partition_count(name) == 0, f"topic {name} to disappear")

    def add_partitions(self, name, total):
        """Raises the partition count to total."""
        self._all(self.admin.create_partitions([NewPartitions(name, total)]))
        self._wait(lambda: self._serves(name, total), f"{total} partitions of {name}")

    def alter_config(self, name, config):
        """Sets the topic's settings; a value of None takes the setting away."""
        entries = [ConfigEntry(k, None if v is None else str(v),
                               incremental_operation=AlterConfigOpType.DELETE if v is None else AlterConfigOpType.SET)
                   for k, v in config.items()]
        self._all(self.admin.incremental_alter_configs(
            [ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)]))

    def delete_records(self, name, before):
        """Raises log starts: before is {partition: first offset to keep}; -1 is the end. Gives the new log starts."""
        done = self._all(self.admin.delete_records([TopicPartition(name, p, o) for p, o in before.items()]))
        return {tp.partition: result.low_watermark for tp, result in done.items()}

    def partition_count(self, name):
        """0 where there is no such topic, or a partition of it has no leader yet."""
        topic = self.admin.list_topics(timeout=10).topics.get(name)
        if topic is None or topic.error is not None or any(p.leader < 0 for p in topic.partitions.values()):
            return 0
        return len(topic.partitions)

    def _serves(self, name, partitions):
        """Leaders are named a moment before they lead; a topic is there when every partition tells its end."""
        try:
            return self.partition_count(name) == partitions == len(self.offsets(name))
        except KafkaException:
            return False

    def describe(self, name):
        """{"id", "partitions", "config": {name: value}} of a topic."""
        topic = self._all(self.admin.describe_topics(TopicCollection([name])))[name]
        config = self._all(self.admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]))
        return {"id": str(topic.topic_id), "partitions": len(topic.partitions),
                "config": {k: e.value for k, e in next(iter(config.values())).items()}}

    def offsets(self, name, spec=None, committed=True):
        """{partition: offset}: the ends (last stable offsets if committed), or what an OffsetSpec asks for."""
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        ask = {TopicPartition(name, p): spec or OffsetSpec.latest() for p in range(self.partition_count(name))}
        done = self._all(self.admin.list_offsets(ask, isolation_level=level)) if ask else {}
        return {tp.partition: result.offset for tp, result in done.items()}

    def log_starts(self, name):
        return self.offsets(name, OffsetSpec.earliest(), committed=False)

    def high_watermarks(self, name):
        return self.offsets(name, committed=False)

    @staticmethod
    def _all(futures):
        return {key: future.result(60) for key, future in futures.items()}

    @staticmethod
    def _wait(true, what, timeout=30):
        until = time.monotonic() + timeout
        while not true():
            if time.monotonic() > until:
                raise RuntimeError(f"waited {timeout} s for {what}")
            time.sleep(0.02)


def main():
    broker = Broker(sys.argv[1] if len(sys.argv) > 1 else DEFAULT, heap=os.environ.get("KAFKA_HEAP", "512m"))
    try:
        print(broker.bootstrap, flush=True)
        while True:
            signal.pause()
    finally:
        broker.close()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    main()
