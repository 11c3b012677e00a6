// Good files give what they say; bad ones say where, what and what would be right.

#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <variant>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

ServerConfig Good(const std::string& text) {
  const auto config = ParseConfig(text, "s.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(ServerConfig{});
}

TEST(ConfigTest, AnEmptyFileIsTheDefaults) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "{}", "api:\nlog:\nports:\n"}) {
    const ServerConfig config = Good(text);
    EXPECT_THAT(config.api_listen, ElementsAre("unix:///run/sluice/sluice.sock"));
    EXPECT_THAT(config.metrics_listen, IsEmpty());
    EXPECT_EQ(config.log_level, LogLevel::kInfo);
    EXPECT_EQ(config.log_format, LogFormat::kText);
    EXPECT_EQ(config.dataplane.worker_count, 1u);
    EXPECT_EQ(config.dataplane.flow_cache_entries, 262'144u);
    EXPECT_EQ(config.dataplane.classifier, ClassifierOptions{});
    EXPECT_EQ(config.dataplane.limits.max_flows, 1'000'000u);
    EXPECT_EQ(config.limits.batch_items, 10'000u);
    EXPECT_THAT(config.ports, IsEmpty());
  }
}

TEST(ConfigTest, EveryKeyArrives) {
  const ServerConfig config = Good(R"(
api: {listen: ["unix:///run/a.sock", "127.0.0.1:9090", "[::1]:0"]}
metrics: {listen: "127.0.0.1:9460"}
log: {level: debug, format: json}
workers: {cpus: [2, 5], idle: poll, rx_burst: 16, flow_cache_entries: 300}
memory: {huge_pages: demand, megabytes: 512, packet_buffers: 4096, packet_buffer_bytes: 9216}
eal: {pci: true, args: ["--log-level=8", "-v"]}
classifier: {pruning: false, equal_priority: any, mask_cache_entries: 256, resort_seconds: 9}
mac_learning: {entries: 10, age_seconds: 11}
limits: {flows: 5, masks_per_table: 6, actions_per_flow: 7, batch_items: 8, packet_in_clients: 12,
  packet_ins_per_second: 13, packet_in_queue: 14, packet_outs_per_second: 15, packet_out_queue: 16, captures: 17}
)");
  EXPECT_THAT(config.api_listen, ElementsAre("unix:///run/a.sock", "127.0.0.1:9090", "[::1]:0"));
  EXPECT_EQ(config.metrics_listen, "127.0.0.1:9460");
  EXPECT_EQ(config.log_level, LogLevel::kDebug);
  EXPECT_EQ(config.log_format, LogFormat::kJson);
  EXPECT_THAT(config.dataplane.worker_cpus, ElementsAre(2u, 5u));
  EXPECT_EQ(config.dataplane.worker_count, 2u);
  EXPECT_EQ(config.dataplane.idle, IdleMode::kPoll);
  EXPECT_EQ(config.dataplane.rx_burst, 16u);
  EXPECT_EQ(config.dataplane.flow_cache_entries, 300u);
  EXPECT_FALSE(config.dataplane.classifier.pruning);
  EXPECT_EQ(config.dataplane.classifier.equal_priority, EqualPriority::kAny);
  EXPECT_EQ(config.dataplane.classifier.mask_cache_entries, 256u);
  EXPECT_EQ(config.dataplane.classifier.resort_period, absl::Seconds(9));
  EXPECT_EQ(config.dataplane.huge_pages, HugePages::kDemand);
  EXPECT_EQ(config.dataplane.memory_mb, 512u);
  EXPECT_EQ(config.dataplane.packet_buffers, 4096u);
  EXPECT_EQ(config.dataplane.packet_buffer_bytes, 9216u);
  EXPECT_TRUE(config.dataplane.use_pci);
  EXPECT_THAT(config.dataplane.eal_args, ElementsAre("--log-level=8", "-v"));
  EXPECT_EQ(config.dataplane.limits.max_flows, 5u);
  EXPECT_EQ(config.dataplane.limits.max_masks_per_table, 6u);
  EXPECT_EQ(config.limits.actions_per_flow, 7u);
  EXPECT_EQ(config.limits.batch_items, 8u);
  EXPECT_EQ(config.dataplane.macs.entries, 10u);
  EXPECT_EQ(config.dataplane.macs.age_seconds, 11u);
  EXPECT_EQ(config.limits.packet_in_clients, 12u);
  EXPECT_EQ(config.limits.packet_ins_per_second, 13u);
  EXPECT_EQ(config.limits.packet_in_queue, 14u);
  EXPECT_EQ(config.limits.packet_outs_per_second, 15u);
  EXPECT_EQ(config.limits.packet_out_queue, 16u);
  EXPECT_EQ(config.limits.captures, 17u);
}

TEST(ConfigTest, NoCachesAndNoOrderingAreZero) {
  const ServerConfig config = Good("workers: {flow_cache_entries: 0}\nclassifier: {resort_seconds: 0}\n");
  EXPECT_EQ(config.dataplane.flow_cache_entries, 0u);
  EXPECT_EQ(config.dataplane.classifier.resort_period, absl::ZeroDuration());
}

TEST(ConfigTest, EveryKindOfPortArrives) {
  const ServerConfig config = Good(R"(
ports:
  - {name: t, number: 7, tap: {interface: tap7}, mtu: 9000, rx_queues: 2, enabled: false, receive: false}
  - name: i
    interface:
  - name: c
    pcap: {rx_file: /tmp/a.pcap, tx_file: /tmp/b.pcap, infinite_rx: true}
  - name: n
    null: {rx_frame_bytes: 64}
  - {name: r, ring: {}}
  - {name: p, pci: {address: "0000:03:00.0"}}
  - {name: d, devargs: "net_memif0,role=server"}
)");
  ASSERT_EQ(config.ports.size(), 7u);
  const PortConfig& tap = config.ports[0];
  EXPECT_EQ(tap.name, "t");
  EXPECT_EQ(tap.number, 7u);
  EXPECT_EQ(std::get<TapDevice>(tap.device).interface, "tap7");
  EXPECT_EQ(tap.mtu, 9000u);
  EXPECT_EQ(tap.rx_queues, 2u);
  EXPECT_FALSE(tap.enabled);
  EXPECT_FALSE(tap.receive);
  EXPECT_EQ(std::get<InterfaceDevice>(config.ports[1].device).interface, "");
  EXPECT_TRUE(config.ports[1].enabled && config.ports[1].receive);
  EXPECT_EQ(config.ports[1].mtu, 1500u);
  const auto& pcap = std::get<PcapDevice>(config.ports[2].device);
  EXPECT_EQ(pcap.rx_file, "/tmp/a.pcap");
  EXPECT_EQ(pcap.tx_file, "/tmp/b.pcap");
  EXPECT_TRUE(pcap.infinite_rx);
  EXPECT_EQ(std::get<NullDevice>(config.ports[3].device).rx_frame_bytes, 64u);
  EXPECT_TRUE(std::holds_alternative<RingDevice>(config.ports[4].device));
  EXPECT_EQ(std::get<PciDevice>(config.ports[5].device).address, "0000:03:00.0");
  EXPECT_EQ(std::get<DevargsDevice>(config.ports[6].device).devargs, "net_memif0,role=server");
}

struct BadFile {
  const char* what;
  const char* text;
  const char* start;  // of the message, behind the file's name
  const char* right;  // what it must name
};

class BadConfigTest : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadConfigTest, SaysWhereWhatAndWhatWouldBeRight) {
  const auto config = ParseConfig(GetParam().text, "s.yaml");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  EXPECT_THAT(message, StartsWith(std::string("s.yaml:") + GetParam().start));
  EXPECT_THAT(message, HasSubstr(GetParam().right));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

constexpr BadFile kBadFiles[] = {
    {"UnknownTopKey", "log: {}\nprots: []\n", "2:1: unknown key \"prots\"", "api, metrics, log"},
    {"UnknownInnerKey", "log:\n  levle: info\n", "2:3: unknown key \"log.levle\"", "level, format"},
    {"UnknownPortKey", "ports:\n- {name: a, ring: {}, mut: 9}\n", "2:23: unknown key \"ports[0].mut\"", "mtu"},
    {"UnknownDeviceKey", "ports:\n- {name: a, tap: {iface: x}}\n", "2:19: unknown key \"ports[0].tap.iface\"",
     "interface"},
    {"FirstInTheFileWins", "zzz: 1\nlog: {level: loud}\n", "1:1: unknown key \"zzz\"", "ports"},
    {"KeyTwice", "log: {level: info}\nlog: {format: json}\n", "2:1: \"log\" stands twice, first in line 1", "once"},
    {"KeyIsAList", "[a, b]: 1\n", "1:1: a key is a list", "a word"},
    {"RootIsAList", "- a\n", "1:1: the file is a list", "a map"},
    {"RootIsText", "hello", "1:1: the file is \"hello\"", "a map"},
    {"SectionIsText", "log: yes\n", "1:6: log is \"yes\"", "a map"},
    {"TwoDocuments", "log: {}\n---\nlog: {}\n", "2:1: a second YAML document", "one a file"},
    {"LoneComma", " ,\n", "1:2: not YAML: neither a key nor a value", "key: value lines"},
    {"NotYaml", "log: {level: info\n", "2:1: not YAML: ", "key: value"},
    {"TabIndent", "log:\n\tlevel: info\n", "2:7: not YAML: ", "indents"},
    {"UnknownAlias", "log: *a\n", "1:6: not YAML: ", "key: value"},
    {"BadLevel", "log: {level: loud}\n", "1:14: log.level is \"loud\"", "debug, info, warning, error"},
    {"LevelIsAMap", "log: {level: {}}\n", "1:14: log.level is a map", "debug, info, warning, error"},
    {"BadFormat", "log: {format: xml}\n", "1:15: log.format is \"xml\"", "text, json"},
    {"ListenIsText", "api: {listen: \"unix:///a\"}\n", "1:15: api.listen is the text \"unix:///a\"", "a list"},
    {"ListenIsEmpty", "api: {listen: []}\n", "1:15: api.listen is an empty list", "one address"},
    {"ListenHoldsAMap", "api: {listen: [{}]}\n", "1:16: api.listen[0] is a map", "text"},
    {"ListenTwice", "api: {listen: [\"unix:/a\", \"unix:///a\"]}\n", "1:27: \"unix:///a\" stands twice", "once"},
    {"ListenNoPort", "api: {listen: [localhost]}\n", "1:16: \"localhost\" is no address", "127.0.0.1:9090"},
    {"ListenBigPort", "api: {listen: [\"a:70000\"]}\n", "1:16: \"a:70000\" is no address", "65535"},
    {"ListenRelativeSocket", "api: {listen: [\"unix:a.sock\"]}\n", "1:16: \"unix:a.sock\" is no address", "absolute"},
    {"ListenUnbracketedV6", "api: {listen: [\"::1:9090\"]}\n", "1:16: \"::1:9090\" is no address", "[::1]:9090"},
    {"MetricsOnASocket", "metrics: {listen: \"unix:///a\"}\n", "1:19: metrics cannot listen", "127.0.0.1:9460"},
    {"MetricsEmpty", "metrics: {listen: \"\"}\n", "1:19: \"\" is no address", "127.0.0.1:9090"},
    {"CountZero", "workers: {count: 0}\n", "1:18: workers.count is \"0\"", "1 to 128"},
    {"CountNegative", "workers: {count: -1}\n", "1:18: workers.count is \"-1\"", "1 to 128"},
    {"CountOctal", "workers: {count: 010}\n", "1:18: workers.count is \"010\"", "1 to 128"},
    {"CountQuoted", "workers: {count: \"2\"}\n", "1:18: workers.count is the text \"2\"", "a number"},
    {"CountFraction", "workers: {count: 1.5}\n", "1:18: workers.count is \"1.5\"", "a number"},
    {"CountNull", "workers:\n  count:\n", "2:3: workers.count is nothing", "a number"},
    {"CountHuge", "workers: {count: 99999999999999999999}\n", "1:18: workers.count is \"9999", "1 to 128"},
    {"CpusText", "workers: {cpus: all}\n", "1:17: workers.cpus is \"all\"", "[2, 3]"},
    {"CpusNegative", "workers: {cpus: [1, -2]}\n", "1:21: workers.cpus[1] is \"-2\"", "0 to 1023"},
    {"CpusTwice", "workers: {cpus: [1, 1]}\n", "1:17: workers.cpus names a CPU twice", "one worker a CPU"},
    {"CountAndCpus", "workers: {count: 3, cpus: [1, 2]}\n", "1:18: workers.count is 3", "the same"},
    {"BadIdle", "workers: {idle: never}\n", "1:17: workers.idle is \"never\"", "adaptive, poll"},
    {"BadBurst", "workers: {rx_burst: 33}\n", "1:21: workers.rx_burst is \"33\"", "1 to 32"},
    {"FlowCacheTooLarge", "workers: {flow_cache_entries: 16777217}\n",
     "1:31: workers.flow_cache_entries is \"16777217\"", "0 to 16777216"},
    {"PruningNumber", "classifier: {pruning: 1}\n", "1:23: classifier.pruning is \"1\"", "true or false"},
    {"BadEqualPriority", "classifier:\n  equal_priority: newest\n", "2:19: classifier.equal_priority is \"newest\"",
     "oldest, any"},
    {"MaskCacheTooLarge", "classifier: {mask_cache_entries: 1048577}\n",
     "1:34: classifier.mask_cache_entries is \"1048577\"", "0 to 1048576"},
    {"ResortTooSeldom", "classifier: {resort_seconds: 86401}\n", "1:30: classifier.resort_seconds is \"86401\"",
     "0 to 86400"},
    {"ClassifierUnknownKey", "classifier: {pruned_from: 1}\n", "1:14: unknown key \"classifier.pruned_from\"",
     "pruning, equal_priority, mask_cache_entries, resort_seconds"},
    {"HugePagesBool", "memory: {huge_pages: true}\n", "1:22: memory.huge_pages is \"true\"", "never, auto, demand"},
    {"FewBuffers", "memory: {packet_buffers: 1}\n", "1:26: memory.packet_buffers is \"1\"", "512 to"},
    {"LongBuffers", "memory: {packet_buffer_bytes: 65536}\n", "1:31: memory.packet_buffer_bytes", "65407"},
    {"PciNumber", "eal: {pci: 1}\n", "1:12: eal.pci is \"1\"", "true or false"},
    {"PciQuoted", "eal: {pci: \"true\"}\n", "1:12: eal.pci is the text \"true\"", "true or false"},
    {"ArgsNul", "eal: {args: [\"a\\0b\"]}\n", "1:14: eal.args[0] has a NUL", "without"},
    {"FlowsZero", "limits: {flows: 0}\n", "1:17: limits.flows is \"0\"", "1 to 100000000"},
    {"BatchTooLarge", "limits: {batch_items: 50001}\n", "1:23: limits.batch_items", "1 to 50000"},
    {"PortsIsAMap", "ports: {a: 1}\n", "1:8: ports is a map", "a list of maps"},
    {"PortIsText", "ports: [p1]\n", "1:9: ports[0] is \"p1\"", "a map"},
    {"PortIsEmpty", "ports:\n-\n", "2:1: ports[0] is empty", "a map"},
    {"PortWithoutName", "ports:\n- {ring: {}}\n", "2:3: ports[0] has no name", "name: p1"},
    {"PortBadName", "ports:\n- {name: \"a b\", ring: {}}\n", "2:10: \"a b\" is no port's name", "letters, digits"},
    {"PortLongName", "ports:\n- {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, ring: {}}\n", "2:10: \"aaa", "1 to 31"},
    {"PortWithoutDevice", "ports:\n- {name: a}\n", "2:3: ports[0] has no device", "tap, interface, pcap"},
    {"PortTwoDevices", "ports:\n- {name: a, ring: {}, null: {}}\n", "2:19: ports[0] has both null and ring",
     "one device"},
    {"PortNumberZero", "ports:\n- {name: a, number: 0, ring: {}}\n", "2:21: ports[0].number is \"0\"", "1 to 65279"},
    {"PortNumberReserved", "ports:\n- {name: a, number: 65280, ring: {}}\n", "2:21: ports[0].number", "1 to 65279"},
    {"PortBadMtu", "ports:\n- {name: a, ring: {}, mtu: 67}\n", "2:28: ports[0].mtu is \"67\"", "68 to 65535"},
    {"SameName", "ports:\n- {name: a, ring: {}}\n- {name: a, ring: {}}\n", "3:10: a second port has the name \"a\"",
     "its own"},
    {"SameNumber", "ports:\n- {name: a, number: 1, ring: {}}\n- {name: b, number: 1, ring: {}}\n",
     "3:21: port \"a\" has the number 1 already", "its own"},
    {"TapNameTooLong", "ports:\n- {name: a, tap: {interface: aaaaaaaaaaaaaaaa}}\n", "2:18: ", "15"},
    {"PciAddress", "ports:\n- {name: a, pci: {address: eth0}}\n", "2:18: ", "0000:03:00.0"},
    {"EmptyDevargs", "ports:\n- {name: a, devargs: \"\"}\n", "2:22: ", "net_memif0"},
    {"NewlineInDevargs", "ports:\n- {name: a, devargs: \"a\\nb\"}\n", "2:22: ", "a\\nb"},
    {"CommaInFile", "ports:\n- {name: a, pcap: {rx_file: \"a,b\"}}\n", "2:19: ", "another name"},
};

INSTANTIATE_TEST_SUITE_P(Files, BadConfigTest, ::testing::ValuesIn(kBadFiles),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(ConfigTest, TooManyPortsAreRefused) {
  std::string text = "ports:\n";
  for (int i = 0; i < 33; ++i) text += "- {name: p" + std::to_string(i) + ", ring: {}}\n";
  EXPECT_THAT(std::string(ParseConfig(text, "s.yaml").status().message()), HasSubstr("33 ports; at most 32"));
}

TEST(ConfigTest, TooLongAFileIsRefused) {
  const std::string text(2 << 20, '#');
  EXPECT_THAT(std::string(ParseConfig(text, "s.yaml").status().message()),
              StartsWith("s.yaml:1:1: the file is too long"));
}

// What crashes a YAML reader: depth, self reference, bytes of all kinds.
TEST(ConfigTest, HostileBytesAreRefusedNotFollowed) {
  std::string every_byte;
  for (int c = 255; c >= 0; --c) every_byte += static_cast<char>(c);
  std::string dashes(50'000, '-');
  dashes += " a";
  for (const std::string& text :
       {std::string(100'000, '['), std::string(100'000, '{'), dashes, every_byte, std::string("ports: &a [*a]\n"),
        std::string("log: &a {level: *a}\n"), std::string("<<: {log: {}}\n"),
        std::string("\xff\xfe"
                    "a\0",
                    4),
        std::string("log: !!binary x\n"), std::string("? ? ? a\n"), std::string("%YAML 9.9\n---\na\n"),
        std::string("log: {level: !<x> y}\n"), std::string("a\0: 1\n", 6)}) {
    EXPECT_FALSE(ParseConfig(text, "s.yaml").ok()) << text.substr(0, 20);
  }
}

// Every prefix and every single changed byte of a good file is read or refused.
TEST(ConfigTest, DamagedFilesNeverCrash) {
  const std::string good =
      "api: {listen: [\"unix:///a\"]}\nlog:\n  level: info\nports:\n- {name: a, number: 1, tap: {interface: b}}\n"
      "- &x {name: c, null: {rx_frame_bytes: 60}, enabled: true}\n";
  ASSERT_TRUE(ParseConfig(good, "s.yaml").ok());
  for (size_t i = 0; i < good.size(); ++i) {
    (void)ParseConfig(good.substr(0, i), "s.yaml");
    for (char c : {'\0', '\n', '*', '&', '[', '}', ':', '"', '\t', '\xff'}) {
      std::string damaged = good;
      damaged[i] = c;
      const auto config = ParseConfig(damaged, "s.yaml");
      if (!config.ok()) EXPECT_THAT(std::string(config.status().message()), StartsWith("s.yaml:"));
    }
  }
}

TEST(LoadConfigTest, NamesTheFileThatCannotBeRead) {
  EXPECT_EQ(LoadConfig("/no/such.yaml").status().message(), "/no/such.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(LoadConfig("/").status().message(), "/: cannot be read: Is a directory");
}

TEST(LoadConfigTest, ReadsAFile) {
  const std::string path = ::testing::TempDir() + "/sluice_config_test.yaml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("log: {level: error}\n", file);
  std::fclose(file);
  const auto config = LoadConfig(path);
  std::remove(path.c_str());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->log_level, LogLevel::kError);
}

}  // namespace
}  // namespace sluice
